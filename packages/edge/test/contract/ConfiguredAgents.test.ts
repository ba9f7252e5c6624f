/** Agents that a configuration brings: behind the Agent Client Protocol, mapped by several fields, and as adapters from outside. */
import { cannotContinue } from "@corral/domain/run/Continuation"
import type { ErrorObject } from "@corral/domain/errors/ErrorTable"
import type { RunMode } from "@corral/domain/run/Run"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EdgeInProcess } from "@corral/testing/edge/EdgeInProcess"
import { assertWhole } from "../harness/LogInvariants.ts"

/** An agent that says what it was asked, and takes the words of its configuration for an error. */
const agent = `
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n")
const update = (update) => say({ method: "session/update", params: { sessionId: "s", update } })
let rest = ""
process.stdin.on("end", () => process.exit(0)).on("data", (data) => {
  const lines = (rest + data).split("\\n")
  rest = lines.pop()
  for (const { id, method, params } of lines.map((line) => JSON.parse(line))) {
    if (method === "initialize") say({ id, result: { protocolVersion: 1, agentInfo: { version: "3.2.1" } } })
    else if (method === "session/new")
      say({ id, result: { sessionId: "s", modes: { currentModeId: "careful", availableModes: [{ id: "careful" }] } } })
    else if (method === "session/prompt") {
      const text = process.env.SEEN + ": " + params.prompt[0].text
      update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } })
      say({ id, result: { stopReason: "end_turn" } })
    } else say({ id, error: { code: -32601, message: "not served" } })
  }
})`

/** A third-party adapter: one line of text, then the outcome. */
const adapter = `
const draft = (type, payload) => ({ _tag: "Event", event: { type, payload } })
export default {
  specificationVersion: 1,
  id: "shout",
  label: "Shout",
  capabilities: { deltas: false, approvals: false, editInput: false, resume: true, readOnly: true, cancel: false, input: false },
  continuation: { store: "~/.shout", model: "same", mode: "same", folder: "any" },
  probe: { command: "cat", versionArgs: ["--version"], install: "It is part of every system." },
  command: () => ({ file: "cat", args: [], stdin: "once" }),
  protocol: ({ prompt }) => {
    let text = ""
    return {
      open: prompt,
      step: (chunk) => ((text += Buffer.from(chunk).toString("utf8")), []),
      end: () => [
        draft("run.started", { runtimeSessionId: "shout-1" }),
        draft("run.message.completed", { messageId: "m", role: "assistant", channel: "text", text: text.toUpperCase() }),
        { _tag: "Outcome", outcome: { _tag: "Completed", text: text.toUpperCase() } }
      ],
      answer: () => undefined,
      input: () => undefined,
      cancel: () => undefined
    }
  }
}`

/** A program that asks when it starts, and says what it receives; its adapter passes lines on. */
const askingAdapter = (version: 1 | 2) => `
const program = \`
  const say = (line) => process.stdout.write(JSON.stringify(line) + "\\\\n")
  say({ _tag: "Event", event: { type: "run.started", payload: {} } })
  say({ _tag: "Work", id: "w", kind: "agent", title: "Work", state: "running" })
  say({ _tag: "InputRequested", key: "q", request: {
    kind: "question", title: "Which?",
    questions: [{ id: "1", text: "Which?", kind: "choice", options: [{ id: "a", label: "A" }] }]
  } })
  process.stdin.once("data", (data) => {
    const payload = { messageId: "m", role: "assistant", channel: "text", text: String(data).trim() }
    say({ _tag: "Event", event: { type: "run.message.completed", payload } })
    say({ _tag: "Outcome", outcome: { _tag: "Completed", text: "one" } })
    say({ _tag: "Work", id: "w", kind: "agent", title: "Work", state: "completed" })
  }).on("end", () => process.exit(0))
\`
export default {
  specificationVersion: ${version},
  id: "asking",
  label: "Asking",
  capabilities: { deltas: false, approvals: true, editInput: false, resume: false, readOnly: true, cancel: false, input: false },
  probe: { command: ${JSON.stringify(process.execPath)}, versionArgs: ["--version"], install: "It is here." },
  command: () => ({ file: ${JSON.stringify(process.execPath)}, args: ["-e", program], stdin: "pipe" }),
  protocol: () => {
    let rest = ""
    return {
      open: "",
      step: (chunk) => {
        const lines = (rest + Buffer.from(chunk).toString("utf8")).split("\\n")
        rest = lines.pop()
        return lines.map((line) => JSON.parse(line))
      },
      end: () => [],
      answer: () => undefined,
      respond: (key, response) => key + " " + JSON.stringify(response.answers ?? response.reason) + "\\n",
      input: () => undefined,
      cancel: () => undefined
    }
  }
}`

/** Blocks its thread without using a processor. One adapter below does it with a loop. */
const blocking = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)"

const prepare = (config: object) => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-configured-")))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, "edge.config.json")
  const write = (content: object) => writeFileSync(file, JSON.stringify(content), { mode: 0o600 })
  write(config)
  writeFileSync(join(folder, "agent.mjs"), agent)
  writeFileSync(join(folder, "shout.mjs"), adapter)
  const edge = new EdgeInProcess({ grants: ["full_access"], env: { CORRAL_EDGE_CONFIG_FILE: file } })
  onTestFinished(() => edge.remove())
  return { edge, folder, write }
}

/** The problems of adapters in the Edge's health. */
const problemsOf = async (client: EdgeInProcess["client"]): Promise<ReadonlyArray<string>> => {
  const {
    problems = []
  }: { readonly problems?: ReadonlyArray<{ readonly part: string; readonly message: string }> } = JSON.parse(
    JSON.stringify((await client.ask("GET", "/v1/health")).body)
  )
  return problems.flatMap(({ message, part }) => (part === "adapters" ? [message] : []))
}

const acp = (folder: string, more: object = {}) => ({
  name: "echo",
  command: process.execPath,
  args: [join(folder, "agent.mjs")],
  variables: { SEEN: "I read" },
  modes: { ask: "careful" },
  failsInWords: "^I read: break",
  ...more
})

describe("A configured agent", () => {
  it("behind the Agent Client Protocol runs as its entry configures", async () => {
    const { edge, folder, write } = prepare({})
    write({ acp: acp(folder) })
    await edge.start()
    const { client } = edge
    const run = await client.create("Hello", "ask", { agentId: "acp:echo" })
    const log = await client.log(run.id)
    assertWhole(log)
    assert.deepInclude(log.at(-1)?.payload, { text: "I read: Hello" })
    const failed = await client.log((await client.create("break", "ask", { agentId: "acp:echo" })).id)
    assert.strictEqual(failed.at(-1)?.type, "run.failed")

    // What does not ask is held to no mode that asks.
    write({ acp: [acp(folder), acp(folder, { name: "bold", modes: undefined })] })
    const answer = await client.tryCreate("Hello", "ask", { agentId: "acp:bold" })
    assert.strictEqual(answer.status, 403)
  })

  it("from an adapter file or package runs like any other, until it is changed", async () => {
    const { edge, write } = prepare({ adapters: ["./shout.mjs"] })
    await edge.start()
    const { client } = edge
    const run = await client.create("hello", "full_access", { agentId: "custom:shout" })
    assert.deepInclude((await client.log(run.id)).at(-1)?.payload, { text: "HELLO" })

    write({ adapters: [] })
    const health = JSON.stringify((await client.ask("GET", "/v1/health")).body)
    assert.include(health, "restart the Edge")
    const again = await client.create("still here", "full_access", { agentId: "custom:shout" })
    assert.strictEqual((await client.log(again.id)).at(-1)?.type, "run.completed")
  })

  it("from an adapter of version 2 asks and works in the background", async () => {
    const { edge, folder } = prepare({ adapters: ["./asking.mjs"] })
    writeFileSync(join(folder, "asking.mjs"), askingAdapter(2))
    await edge.start()
    const { client } = edge
    const run = await client.create("go", "ask", { agentId: "custom:asking" })
    const { payload } = await (await client.follow({ runId: run.id })).event("run.input.requested")
    await client.answer(run.id, String(payload["inputId"]), { answers: { "1": "a" } })
    const log = await client.log(run.id)
    assertWhole(log)
    assert.include(
      log.map(({ payload }) => payload["text"]),
      'q {"1":"a"}'
    )
    assert.deepStrictEqual(
      log.map(({ type }) => type).filter((type) => /work|turn|completed$/.test(type)),
      ["run.work.started", "run.message.completed", "run.turn.ended", "run.work.ended", "run.completed"]
    )
  })

  it("from an adapter of version 1 asks no one, and ends with its first outcome", async () => {
    const { edge, folder } = prepare({ adapters: ["./asking.mjs"] })
    writeFileSync(join(folder, "asking.mjs"), askingAdapter(1))
    await edge.start()
    const { client } = edge
    const log = await client.log((await client.create("go", "ask", { agentId: "custom:asking" })).id)
    assertWhole(log)
    assert.deepStrictEqual(
      log.map(({ type }) => type),
      ["run.created", "run.started", "run.message.completed", "run.completed"]
    )
    assert.deepInclude(log[2]?.payload, { text: 'q "Questions are not supported here."' })
  })

  it("ends with a reason if its adapter asks and cannot answer", async () => {
    for (const version of [1, 2] as const) {
      const { edge, folder } = prepare({ adapters: ["./asking.mjs"] })
      writeFileSync(join(folder, "asking.mjs"), askingAdapter(version).replace("respond:", "unused:"))
      await edge.start()
      const { client } = edge
      const run = await client.create("go", "ask", { agentId: "custom:asking" })
      const { payload } = await (await client.follow({ runId: run.id })).event("run.failed")
      assert.include(
        JSON.stringify(payload["error"]),
        "it asks a question, and its protocol has no function respond"
      )
    }
  })

  it("continues a conversation only as its adapter says it can", async () => {
    const { edge } = prepare({ adapters: ["./shout.mjs"] })
    await edge.start()
    const { client } = edge
    const agentId = "custom:shout"
    const first = await client.create("hello", "full_access", { agentId, model: "small" })
    assert.strictEqual((await client.log(first.id)).at(-1)?.type, "run.completed")
    const refusal = async (mode: RunMode, model?: string) => {
      const answer = await client.tryCreate("again", mode, {
        agentId,
        resume: first.id,
        ...(model === undefined ? {} : { model })
      })
      assert.strictEqual(answer.status, 422, answer.text)
      const error = answer.body as ErrorObject // a refusal has the shape of all errors
      assert.isTrue(cannotContinue(error))
      const issues = error.details?.["issues"]
      return Array.isArray(issues) ? issues[0] : undefined
    }
    const path = "resume"
    assert.deepStrictEqual(await refusal("full_access", "large"), {
      path,
      message: "Shout continues a conversation only with its model: small."
    })
    assert.deepStrictEqual(await refusal("full_access"), await refusal("full_access", "large"))
    assert.deepStrictEqual(await refusal("plan", "small"), {
      path,
      message: "Shout continues a conversation only in its mode: full_access."
    })
    const next = await client.create("again", "full_access", { agentId, model: "small", resume: first.id })
    assert.deepInclude((await client.log(next.id)).at(-1)?.payload, { text: "AGAIN" })
  })

  it("is mapped by several fields of its lines", async () => {
    const { edge, folder, write } = prepare({})
    const lines = [
      { type: "item", item: { kind: "text", text: "Nested." } },
      { type: "item", item: { kind: "call", id: 1, name: "look" } },
      { type: "item", item: { kind: "result", id: 1, output: { found: true } } },
      { type: "end" }
    ]
    const printed = join(folder, "printed.jsonl")
    writeFileSync(printed, lines.map((line) => `${JSON.stringify(line)}\n`).join(""))
    const map = {
      type: ["type", "item.kind"],
      message: { when: ["item/text"], text: "item.text" },
      toolCall: { when: ["item/call"], id: "item.id", name: "item.name" },
      toolResult: { when: ["item/result"], id: "item.id", output: "item.output" },
      completed: { when: ["end"] }
    }
    const command = ["sh", "-c", `cat > /dev/null; cat ${printed}`]
    write({
      runners: [
        { id: "custom:mapped", label: "Mapped", runtime: "json-lines", command, stdin: "prompt", map }
      ]
    })
    await edge.start()
    const run = await edge.client.create("Hi", "full_access", { agentId: "custom:mapped" })
    const log = await edge.client.log(run.id)
    const types = log.map(({ type }) => type)
    assert.includeMembers(types, ["run.message.completed", "run.tool.call", "run.tool.result"])
    assert.deepInclude(log.at(-1)?.payload, { text: "Nested." })
    assert.include(JSON.stringify(log), '{\\"found\\":true}')
  })

  it("is left out with one sentence where its adapter does not fit, and the Edge serves the rest", async () => {
    const refused: ReadonlyArray<readonly [name: string, content: string, why: string]> = [
      ["version", "export default { specificationVersion: 9 }", "specificationVersion is 9"],
      ["shape", "export default { specificationVersion: 1 }", "not an adapter"],
      ["throws", "throw new Error('broken')", "importing it failed: broken"],
      ["blocks", blocking, "it did not answer within 10 seconds when it was imported"],
      ["ends", "process.exit(0)", "it ended its thread"]
    ]
    const paths = [...refused.map(([name]) => `./${name}.mjs`), "./gone.mjs", "@someone/gone"]
    const profile = { id: "louder", label: "Louder", adapter: "custom:gone", mode: "full_access" }
    const { edge, folder } = prepare({ adapters: [...paths, "./shout.mjs"], profiles: [profile] })
    for (const [name, content] of refused) writeFileSync(join(folder, `${name}.mjs`), content)
    await edge.start()
    const { client } = edge
    const problems = await problemsOf(client)
    for (const [name, , why] of [...refused, ["gone", "", "it is not there"] as const]) {
      const sentence = problems.find((each) => each.startsWith(`The adapter ./${name}.mjs is not loaded: `))
      assert.include(sentence, why)
      assert.notInclude(sentence, "\n")
      assert.include(edge.stderr, sentence?.slice(0, 60) ?? name)
    }
    assert.include(problems, "The adapter @someone/gone is not loaded: it is not there.")
    assert.include(problems, "The profile louder is not offered: its adapter custom:gone is not loaded.")
    const run = await client.create("hello", "full_access", { agentId: "custom:shout" })
    assert.deepInclude((await client.log(run.id)).at(-1)?.payload, { text: "HELLO" })
    assert.strictEqual((await client.tryCreate("hello", "full_access", { agentId: "louder" })).status, 400)
  })

  it("is left out where other users can write its adapter", async () => {
    const { edge, folder } = prepare({ adapters: ["./shout.mjs"] })
    chmodSync(join(folder, "shout.mjs"), 0o666)
    await edge.start()
    const [problem = ""] = await problemsOf(edge.client)
    assert.include(problem, "other users can write")
    assert.include(edge.stderr, "other users can write")
    assert.strictEqual(
      (await edge.client.tryCreate("hi", "full_access", { agentId: "custom:shout" })).status,
      400
    )
  })

  it("is refused or reported in one sentence where a function of its adapter fails outside of a run", async () => {
    const command = 'command: () => ({ file: "cat", args: [], stdin: "once" })'
    const commands: ReadonlyArray<readonly [name: string, command: string, why: RegExp]> = [
      ["nothing", "command: () => undefined", /failed: command returned an invalid value \(.*\)\.$/],
      ["texts", command.replace("[]", '"-a"'), /invalid value \(args: .*\)\.$/],
      ["file", command.replace('"cat"', "7"), /invalid value \(file: .*\)\.$/],
      ["stdin", command.replace("once", "twice"), /invalid value \(stdin: .*\)\.$/],
      ["thrower", "command: () => { throw new Error('no way') }", /failed: no way\.$/],
      ["promise", `command: async () => ({})`, /failed: it returned a value that is not data\.$/],
      ["sleeper", "command: () => { for (;;) {} }", /did not answer within 2 seconds in command\.$/]
    ]
    const signIns: ReadonlyArray<readonly [name: string, read: string, why: RegExp]> = [
      ["signed-throws", "() => { throw new Error('no idea') }", /failed: no idea\.$/],
      ["signed-text", "() => 'yes'", /failed: signedIn\.read returned an invalid value/],
      [
        "signed-blocks",
        `() => { ${blocking} }`,
        /did not answer within 2 seconds in probe\.signedIn\.read\.$/
      ]
    ]
    const rules =
      "projectSettings: { files: [], denyRules: { files: ['rules'], read: () => { throw 1 } } }, probe:"
    const names = [...commands, ...signIns].map(([name]) => name)
    const { edge, folder } = prepare({
      adapters: ["./shout.mjs", "./rules.mjs", ...names.map((name) => `./${name}.mjs`)]
    })
    const write = (name: string, found: string, replacement: string) => {
      assert.include(adapter, found)
      const text = adapter.replace('"shout"', JSON.stringify(name)).replace(found, () => replacement)
      writeFileSync(join(folder, `${name}.mjs`), text)
    }
    for (const [name, wrong] of commands) write(name, command, wrong)
    for (const [name, read] of signIns)
      write(name, "install:", `signedIn: { args: ["--version"], read: ${read} }, install:`)
    write("rules", "probe:", rules)
    await edge.start()
    const { client } = edge
    const { items } = JSON.parse(JSON.stringify((await client.ask("GET", "/v1/agents")).body))
    const agents: ReadonlyArray<{ readonly id: string; readonly signedIn?: boolean }> = items
    for (const [name, , why] of signIns) {
      const id = `custom:${name}`
      assert.notProperty(agents.find((each) => each.id === id) ?? { signedIn: true }, "signedIn")
      const found = (await problemsOf(client)).filter((each) => each.startsWith(`The adapter ${id} `))
      assert.strictEqual(found.length, 1)
      assert.match(found[0] ?? "", why)
    }
    for (const [name, , why] of commands) {
      const refused = await client.tryCreate("hi", "full_access", { agentId: `custom:${name}` })
      assert.strictEqual(refused.status, 503, refused.text)
      const { message } = refused.body as ErrorObject // a refusal has the shape of all errors
      assert.match(message, why)
      assert.include(await problemsOf(client), message)
    }
    const run = await client.create("hello", "full_access", { agentId: "custom:rules" })
    assert.strictEqual((await client.log(run.id)).at(-1)?.type, "run.completed")
    writeFileSync(join(edge.workspace, "rules"), "deny everything")
    const held = await client.tryCreate("hi", "full_access", { agentId: "custom:rules" })
    assert.deepStrictEqual([held.status, (held.body as ErrorObject).code], [403, "permission_denied"])
  })

  it("fails its runs alone where its adapter misbehaves in a run", async () => {
    const faults: ReadonlyArray<readonly [name: string, step: string, why: RegExp]> = [
      ["throws", "() => { throw new Error('boom') }", /failed: boom\.$/],
      ["ends", "() => process.exit(3)", /ended its thread\.$/],
      [
        "reserved",
        "() => [{ _tag: 'Event', event: { type: 'run.created', payload: {} } }]",
        /failed: no adapter emits events of the type run\.created\.$/
      ],
      ["blocks", `() => { ${blocking} }`, /did not answer within 5 seconds while it decoded output\.$/]
    ]
    const { edge, folder } = prepare({
      adapters: ["./shout.mjs", ...faults.map(([name]) => `./${name}.mjs`)]
    })
    for (const [name, step] of faults) {
      const faulty = adapter.replace('"shout"', `"${name}"`)
      const decoding = `step: (chunk) => prompt === "fault" ? (${step})() : `
      writeFileSync(join(folder, `${name}.mjs`), faulty.replace("step: (chunk) => ", decoding))
    }
    await edge.start()
    const { client } = edge
    const failed = await Promise.all(
      faults.map(([name]) => client.create("fault", "full_access", { agentId: `custom:${name}` }))
    )
    // Meanwhile the Edge serves others.
    const other = await client.create("hello", "full_access", { agentId: "custom:shout" })
    assert.deepInclude((await client.log(other.id)).at(-1)?.payload, { text: "HELLO" })
    for (const [at, [name, , why]] of faults.entries()) {
      const end = (await client.log(failed[at]?.id ?? "")).at(-1)
      assert.strictEqual(end?.type, "run.failed")
      assert.match(JSON.parse(JSON.stringify(end?.payload)).error.message, why)
      const problem = (await problemsOf(client)).find((each) =>
        each.startsWith(`The adapter custom:${name} `)
      )
      assert.match(problem ?? "", why)
      assert.include(edge.stderr, problem ?? name)
      // The next run has another thread, and its end clears the problem.
      const again = await client.create("hello", "full_access", { agentId: `custom:${name}` })
      assert.deepInclude((await client.log(again.id)).at(-1)?.payload, { text: "HELLO" })
    }
    assert.deepStrictEqual(await problemsOf(client), [])
  })
})
