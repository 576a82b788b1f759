// Hands opencode's events to becket and does what it answers. It works with both plugin interfaces:
// opencode 1 calls `server`, opencode 2 calls `setup`.

import { spawn } from "node:child_process"

// Two copies of this file, one for the person and one for the project, must judge a call once.
const judged = (globalThis[Symbol.for("becket.judged")] ??= new WeakSet())
const seen = (object) => judged.has(object) || !judged.add(object)

const gate = (hook) => hook === "tool.execute.before" || hook === "chat.message"

// Asks becket. Whatever goes wrong, a call or a prompt that could not be judged is denied.
function ask(payload) {
  const refuse = (why) =>
    gate(payload.hook)
      ? { verdict: "deny", reason: `becket: ${why}; nothing can be judged, see \`becket doctor\`` }
      : { verdict: "allow", message: `becket: ${why}` }
  return new Promise((resolve) => {
    let child
    try {
      child = spawn(LINE[0], LINE.slice(1), { stdio: ["pipe", "pipe", "pipe"] })
    } catch (error) {
      return resolve(refuse(`${LINE[0]} cannot be started: ${error.message}`))
    }
    let out = ""
    let err = ""
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      resolve(refuse(`no answer within ${PATIENCE} s`))
    }, PATIENCE * 1000)
    const done = (answer) => {
      clearTimeout(timer)
      resolve(answer)
    }
    child.stdout.setEncoding("utf8").on("data", (text) => (out += text))
    child.stderr.setEncoding("utf8").on("data", (text) => (err = (err + text).slice(-4096)))
    child.on("error", (error) => done(refuse(`${LINE[0]} cannot be started: ${error.message}`)))
    child.on("close", (code) => {
      let answer
      try {
        answer = JSON.parse(out)
      } catch {}
      const whole = code === 0 && answer && ["allow", "deny", "continue"].includes(answer.verdict)
      done(whole ? answer : refuse(err.trim() || `it ended with ${code} and without an answer`))
    })
    // It may end without reading all: what it says counts.
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ becket: 1, ...payload }))
  })
}

// What both interfaces share: which session is whose child, and contexts that wait for a way to the model.
function memory() {
  const parents = new Map()
  const agents = new Map()
  const waiting = new Map()
  const starting = new Map()
  return {
    parents,
    agents,
    starting,
    beside: (session) => ({ parent: parents.get(session), agent: agents.get(session) }),
    keep(session, text) {
      if (text) waiting.set(session, [...(waiting.get(session) ?? []), text])
    },
    take(session, ...more) {
      const texts = [...(waiting.get(session) ?? []), ...more].filter(Boolean)
      waiting.delete(session)
      return texts.join("\n\n")
    },
    forget(session) {
      for (const map of [parents, agents, waiting, starting]) map.delete(session)
    },
  }
}

function overwrite(target, source) {
  for (const key of Object.keys(target)) if (!(key in source)) delete target[key]
  Object.assign(target, source)
}

const TOLD = [
  "session.created",
  "session.idle",
  "session.deleted",
  "session.compacted",
  "session.error",
  "permission.asked",
]

async function server({ client, directory }) {
  const known = memory()
  const tell = (message) => {
    if (!message) return
    const body = { message, variant: "warning" }
    Promise.resolve(client?.tui?.showToast?.({ body })).catch(() => {})
    const log = { service: "becket", level: "warn", message }
    Promise.resolve(client?.app?.log?.({ body: log })).catch(() => {})
  }
  const fire = async (session, payload) => {
    const answer = await ask({ directory, ...known.beside(session), ...payload })
    tell(answer.message)
    return answer
  }
  const lastWords = async (session) => {
    try {
      const { data } = await client.session.messages({ path: { id: session } })
      const last = data.filter((message) => message.info.role === "assistant").at(-1)
      return last?.parts.filter((part) => part.type === "text").map((part) => part.text).join("\n")
    } catch {}
  }
  const told = async (event) => {
    const { type, properties } = event
    const session = properties?.sessionID ?? properties?.info?.id
    if (type === "session.created" && properties.info?.parentID) {
      known.parents.set(session, properties.info.parentID)
    }
    const said = type === "session.idle" ? await lastWords(session) : undefined
    const answer = await fire(session, { hook: "event", event: { type, properties }, said })
    known.keep(session, answer.context)
    if (answer.verdict === "continue") {
      await client.session.prompt({
        path: { id: session },
        body: { parts: [{ type: "text", text: answer.reason }] },
      })
    }
    if (type === "session.deleted") known.forget(session)
  }
  return {
    event: async ({ event }) => {
      if (!TOLD.includes(event.type) || seen(event)) return
      const done = told(event).catch((error) => tell(`becket: ${error.message}`))
      const session = event.properties?.sessionID ?? event.properties?.info?.id
      if (event.type === "session.created") known.starting.set(session, done)
      // A prompt that is sent from here must not be waited for by the event that caused it.
      if (event.type !== "session.idle") await done
    },
    "chat.message": async (input, output) => {
      if (seen(output)) return
      const session = input.sessionID
      await known.starting.get(session)
      known.agents.set(session, output.message?.agent)
      const answer = await fire(session, { hook: "chat.message", input, output: { parts: output.parts } })
      if (answer.verdict === "deny") {
        // The agent shows a thrown prompt as an error of its server, without the words.
        tell(answer.reason)
        throw new Error(answer.reason)
      }
      const text = known.take(session, answer.context)
      const last = output.parts.at(-1)
      if (text && last) {
        const { sessionID, messageID } = last
        output.parts.push({ id: `${last.id}b`, sessionID, messageID, type: "text", text, synthetic: true })
      }
    },
    "tool.execute.before": async (input, output) => {
      if (seen(output)) return
      const { tool, sessionID, callID } = input
      const payload = { input: { tool, sessionID, callID }, output: { args: output.args } }
      const answer = await fire(sessionID, { hook: "tool.execute.before", ...payload })
      if (answer.verdict === "deny") throw new Error(answer.reason)
      if (answer.input) overwrite(output.args, answer.input)
      known.keep(sessionID, answer.context)
    },
    "tool.execute.after": async (input, output) => {
      if (seen(output)) return
      const { tool, sessionID, callID, args } = input
      const payload = { input: { tool, sessionID, callID, args }, output }
      const answer = await fire(sessionID, { hook: "tool.execute.after", ...payload })
      const text = known.take(sessionID, answer.context)
      if (Array.isArray(output.content)) {
        if (answer.replace) output.content = [{ type: "text", text: answer.replace }]
        if (text) output.content.push({ type: "text", text })
      }
      if (typeof output.output === "string" || !Array.isArray(output.content)) {
        output.output = [answer.replace ?? output.output, text].filter(Boolean).join("\n\n")
      }
    },
    "experimental.session.compacting": async (input, output) => {
      if (seen(output)) return
      const answer = await fire(input.sessionID, { hook: "experimental.session.compacting", input })
      if (answer.context) output.context?.push(answer.context)
    },
  }
}

async function setup(ctx) {
  const known = memory()
  const directory = ctx.location?.directory ?? process.cwd()
  const fire = async (session, payload) => {
    const answer = await ask({ directory, ...known.beside(session), ...payload })
    if (answer.message) console.error(answer.message)
    return answer
  }
  await ctx.session.hook("prompt", async (event) => {
    if (seen(event)) return
    const session = event.sessionID
    await known.starting.get(session)
    const output = { parts: [{ type: "text", text: event.prompt?.text }] }
    const answer = await fire(session, { hook: "chat.message", input: { sessionID: session }, output })
    if (answer.verdict === "deny") throw new Error(answer.reason)
    known.keep(session, answer.context)
  })
  await ctx.session.hook("context", (event) => {
    const text = known.take(event.sessionID)
    if (text) event.system?.push({ type: "text", text })
  })
  await ctx.session.hook("compaction", async (event) => {
    if (seen(event)) return
    const input = { sessionID: event.sessionID }
    const answer = await fire(event.sessionID, { hook: "experimental.session.compacting", input })
    if (answer.context) event.system?.push({ type: "text", text: answer.context })
  })
  await ctx.tool.hook("execute.before", async (event) => {
    if (seen(event)) return
    const { tool, sessionID, callID, input } = event
    const payload = { input: { tool, sessionID, callID }, output: { args: input } }
    const answer = await fire(sessionID, { hook: "tool.execute.before", ...payload })
    if (answer.verdict === "deny") throw new Error(answer.reason)
    if (answer.input) event.input = answer.input
    known.keep(sessionID, answer.context)
  })
  await ctx.tool.hook("execute.after", async (event) => {
    if (seen(event)) return
    const { tool, sessionID, callID, input, status, result, error } = event
    const output = { ...result, ...(status === "error" ? { error: error?.message ?? "failed" } : {}) }
    const payload = { input: { tool, sessionID, callID, args: input }, output }
    const answer = await fire(sessionID, { hook: "tool.execute.after", ...payload })
    const text = known.take(sessionID, answer.context)
    if (event.result) {
      const content = event.result.content
      const parts = typeof content === "string" ? [{ type: "text", text: content }] : [...(content ?? [])]
      const kept = answer.replace ? [{ type: "text", text: answer.replace }] : parts
      if (answer.replace || text) {
        event.result = { ...event.result, content: [...kept, ...(text ? [{ type: "text", text }] : [])] }
      }
    } else if (event.error) {
      const message = [answer.replace ?? event.error.message, text].filter(Boolean).join("\n\n")
      event.error.message = message
    }
  })
  const stop = new AbortController()
  const told = async ({ type, data }) => {
    const session = data?.sessionID
    if (type === "session.created" && data.parentID) known.parents.set(session, data.parentID)
    const answer = await fire(session, { hook: "event", event: { type, properties: data } })
    known.keep(session, answer.context)
    if (answer.verdict === "continue") await ctx.session.prompt({ sessionID: session, text: answer.reason })
    if (type === "session.deleted") known.forget(session)
  }
  const listen = async () => {
    for await (const event of ctx.event.subscribe({ signal: stop.signal })) {
      if (!TOLD.includes(event.type) || seen(event)) continue
      const done = told(event).catch((error) => console.error(`becket: ${error.message}`))
      if (event.type === "session.created") known.starting.set(event.data?.sessionID, done)
    }
  }
  listen().catch((error) => stop.signal.aborted || console.error(`becket: ${error.message}`))
  return () => stop.abort()
}

export default { id: "becket", server, setup }
