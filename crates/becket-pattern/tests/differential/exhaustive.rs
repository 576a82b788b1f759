//! What is not left to chance: every character with a case, and every character's name.

use becket_pattern::Pattern;

use crate::worker::{Answer, Outcome, Worker};

type Question = (String, Vec<String>);

/// Python's answers must be ours, for every question.
fn compare(worker: &mut Worker, questions: &[Question]) {
    let mut differences = Vec::new();
    for batch in questions.chunks(64) {
        for ((text, subjects), answer) in batch.iter().zip(worker.ask(batch)) {
            match (Pattern::new(text), answer) {
                (Err(_), Answer::Refused(_)) => {}
                (Ok(pattern), Answer::Searched(outcomes)) => {
                    for (subject, outcome) in subjects.iter().zip(outcomes) {
                        let ours = pattern.is_match(subject).unwrap();
                        if ours != matches!(outcome, Outcome::Found) {
                            differences.push(format!("{text:?} on {subject:?}: {ours} here"));
                        }
                    }
                }
                (ours, theirs) => differences.push(format!("{text:?}: {ours:?}, {theirs:?}")),
            }
        }
    }
    let few = &differences[..differences.len().min(20)];
    assert!(differences.is_empty(), "{} differences: {few:#?}", differences.len());
}

/// Characters that some mapping of this or a later Unicode version moves, and one that none does.
fn with_case() -> impl Iterator<Item = char> {
    let moves = |c: &char| !c.to_lowercase().eq([*c]) || !c.to_uppercase().eq([*c]);
    ('\0'..=char::MAX).filter(moves).chain(['字'])
}

#[test]
fn every_character_with_a_case_is_compared_as_in_python() {
    let mut worker = Worker::start();
    // A later Python has letters that 3.11 has not.
    let is_known = worker.unicode == "14.0.0";
    let named = |c: char| Pattern::new(&format!("^\\N{{{}}}", unicode_names2::name(c).unwrap())).is_ok();
    let questions: Vec<Question> = with_case()
        .filter(|&c| is_known || named(c))
        .map(|c| {
            let lower = c.to_lowercase().next().unwrap();
            let upper = c.to_uppercase().next().unwrap();
            let after = char::from_u32(u32::from(c) + 1).unwrap_or(c);
            let family = [
                c,
                lower,
                upper,
                lower.to_uppercase().next().unwrap(),
                upper.to_lowercase().next().unwrap(),
                after,
            ];
            let mut family: Vec<String> = family.map(String::from).into();
            family.extend(["s", "ſ", "i", "İ", "ı", "k", "\u{212a}"].map(String::from));
            (c, after, family)
        })
        .flat_map(|(c, after, family)| {
            let mut texts = vec![
                format!("(?i){c}"),
                format!("(?i)[^{c}]"),
                format!("(?i)[{c}_]"),
                format!("(?i)[{c}-{after}]"),
                format!("(?i)[^{c}-{after}]"),
                format!("(?i)(?:{c}|_)"),
                format!("(?i)(.){c}\\1"),
                format!("(?ai){c}"),
            ];
            // Python takes its time over long ranges.
            if u32::from(c).is_multiple_of(16) || u32::from(c) > 0xffff {
                texts.push(format!("(?i)[{c}-\\U00010450]"));
                texts.push(format!("(?ai)[{c}-\\U0010ffff]"));
            }
            texts.into_iter().map(move |text| (text, family.clone()))
        })
        .collect();
    compare(&mut worker, &questions);
}

#[test]
fn every_name_is_taken_or_refused_as_in_python() {
    let mut worker = Worker::start();
    if worker.unicode != "14.0.0" {
        println!("skipped: names of Unicode 14.0 cannot be compared with {}", worker.unicode);
        return;
    }
    let (mut taken, mut questions) = (Vec::new(), Vec::new());
    for c in '\0'..=char::MAX {
        let Some(name) = unicode_names2::name(c) else { continue };
        // Made up from the number or the syllables, hence alike.
        let made_up = name.to_string().starts_with("CJK UNIFIED") || ('가'..='힣').contains(&c);
        if made_up && !u32::from(c).is_multiple_of(29) {
            continue;
        }
        let name = name.to_string();
        let name = if u32::from(c).is_multiple_of(3) { name.to_lowercase() } else { name };
        let text = format!("\\N{{{name}}}");
        if Pattern::new(&text).is_ok() {
            taken.push((text, c));
        } else {
            questions.push((text, vec![c.to_string()]));
        }
    }
    assert!(taken.len() > 30_000 && questions.len() > 5_000, "{} and {}", taken.len(), questions.len());
    // Those that we take are asked for many at a time.
    for part in taken.chunks(32) {
        let (texts, chars): (Vec<&str>, Vec<char>) = part.iter().map(|(text, c)| (text.as_str(), *c)).unzip();
        questions.push((texts.concat(), vec![chars.into_iter().collect()]));
    }
    compare(&mut worker, &questions);
}
