//! What the doctor tells of what stands around an agent's file: variables, and files of them.

use std::fs;

use crate::doctor::is_told;
use crate::place::Place;

#[test]
fn the_file_of_variables_that_gemini_takes_is_told_wherever_it_stands() {
    let place = Place::new();
    place.install(&["gemini"]);
    let home = place.home();
    let trust = format!("{{{:?}: \"TRUST_FOLDER\"}}", place.shop());
    place.write("home/.gemini/trustedFolders.json", trust);
    assert_eq!(place.becket(&["doctor"]).exit, 0);
    // Past the repository's root, and at last at home.
    for path in ["shop/.gemini/.env", "shop/.env", ".gemini/.env", ".env", "home/.gemini/.env", "home/.env"] {
        let path = place.write(path, "# x\nGEMINI_CLI_TRUST_WORKSPACE=false\n");
        is_told(&place, "gemini", "switch", &format!("{}:2: the variable GEMINI_CLI_TRUST", path.display()));
        fs::remove_file(&path).unwrap();
    }
    assert_eq!(place.becket(&["doctor"]).exit, 0);
    // It takes the first alone, whatever that is.
    place.write("home/.env", "GEMINI_RESTRICTED_MODE=true\n");
    place.write("shop/.env", "A=1\n");
    assert_eq!(place.becket(&["doctor"]).exit, 0);
    fs::remove_file(place.shop().join(".env")).unwrap();
    fs::create_dir(place.shop().join(".env")).unwrap();
    assert_eq!(place.becket(&["doctor"]).exit, 0);
    fs::remove_dir(place.shop().join(".env")).unwrap();
    is_told(&place, "gemini", "switch", "home/.env:1: the variable GEMINI_RESTRICTED_MODE is \"true\"");
    fs::remove_file(home.join(".env")).unwrap();
    // One that cannot be read may say anything.
    place.write("shop/.env", vec![b'#'; 5 << 20]);
    is_told(&place, "gemini", "switch", "nobody can tell whether it runs hooks");
}
