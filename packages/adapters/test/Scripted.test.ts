import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { RunMode } from "@corral/domain/run/Run"
import type { InputResponse, RunStart } from "@corral/domain/run/RuntimeAdapter"
import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { until } from "@corral/testing/time/Until"
import { invariantFindings, deltasJoin } from "@corral/conformance/Invariants"
import { makeScripted } from "../src/Scripted.ts"
import { Conversation, workspace } from "./Conversation.ts"

const program = fileURLToPath(new URL("../runtime/scripted.mjs", import.meta.url))
const scripted = makeScripted({ node: process.execPath, program })
const readme = "# Demo\n\nHello world\n"

let folder: ReturnType<typeof workspace>
let running: Array<Conversation> = []
let leftBehind: Array<number> = []

beforeEach(() => {
  folder = workspace({ "README.md": readme, "src/main.ts": "export {}\n" })
})
afterEach(() => {
  for (const conversation of running) conversation.stop()
  for (const pid of leftBehind) {
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      // It has ended.
    }
  }
  running = []
  leftBehind = []
  folder.remove()
})

const play = (prompt: string, mode: RunMode = "ask", more: Partial<RunStart> = {}): Conversation => {
  const conversation = new Conversation(scripted, { prompt, mode, workspacePath: folder.path, ...more })
  running.push(conversation)
  return conversation
}

const outcomeOf = async (conversation: Conversation) => (await conversation.next("Outcome")).outcome
const inFolder = (name: string) => `${folder.path}/${name}`
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe("Scripted story", () => {
  it("reads, asks before it writes, and writes what was shown", async () => {
    const run = play("Look around.")
    const { key, request } = await run.next("Approval")
    assert.isFalse(existsSync(inFolder("NOTES.md")), "nothing is written before the answer")
    run.answer(key, { decision: "allow", scope: "once" })
    const outcome = await outcomeOf(run)
    const end = await run.ended
    assert.deepStrictEqual(run.shape, [
      "run.started",
      "run.message.completed",
      "run.tool.call",
      "run.tool.result",
      "run.tool.call",
      "run.file.read",
      "run.tool.result",
      "run.message.completed",
      "run.tool.call",
      "run.patch.proposed",
      "Approval",
      "run.file.changed",
      "run.tool.result",
      "run.message.completed",
      "Outcome"
    ])
    assert.deepStrictEqual(outcome, { _tag: "Completed", text: "Done. The notes are in NOTES.md." })
    const notes = readFileSync(inFolder("NOTES.md"), "utf8")
    const lines = notes.trimEnd().split("\n")
    assert.strictEqual(
      request.patch,
      `--- /dev/null\n+++ b/NOTES.md\n@@ -0,0 +1,${lines.length} @@\n${lines.map((line) => `+${line}\n`).join("")}`
    )
    assert.include(notes, 'I read README.md: 2 lines with something on them. It begins with "# Demo".')
    assert.deepStrictEqual({ code: end.code, signal: end.signal }, { code: 0, signal: null })
    assert.deepStrictEqual([...invariantFindings(run.outputs), ...deltasJoin(run.outputs)], [])
  })

  it("continues without the denied action", async () => {
    const run = play("Look around.")
    const { key } = await run.next("Approval")
    run.answer(key, { decision: "deny", scope: "once", reason: "not in this folder" })
    assert.strictEqual((await outcomeOf(run))._tag, "Completed")
    assert.isFalse(existsSync(inFolder("NOTES.md")))
    assert.include(run.lastText, "not in this folder")
    assert.deepStrictEqual(invariantFindings(run.outputs), [])
  })

  it("writes an edited input instead of the original", async () => {
    const run = play("/write a.txt mine")
    const { key } = await run.next("Approval")
    const updatedInput = { path: "b.txt", content: "yours" }
    run.answer(key, { decision: "allow", scope: "once", updatedInput })
    await outcomeOf(run)
    assert.isFalse(existsSync(inFolder("a.txt")))
    assert.strictEqual(readFileSync(inFolder("b.txt"), "utf8"), "yours")
  })

  it("refuses by itself where the mode forbids, and does not ask where it grants", async () => {
    for (const mode of ["read_only", "plan"] as const) {
      const run = play("/write a.txt no\n/shell touch b.txt", mode)
      assert.strictEqual((await outcomeOf(run))._tag, "Completed")
      assert.notInclude(run.shape, "Approval")
      assert.isFalse(existsSync(inFolder("a.txt")) || existsSync(inFolder("b.txt")))
    }
    await outcomeOf(play("/write a.txt yes", "auto_edit"))
    await outcomeOf(play("/shell touch b.txt", "full_access"))
    assert.isTrue(existsSync(inFolder("a.txt")) && existsSync(inFolder("b.txt")))
  })

  it("touches nothing outside the workspace", async () => {
    const run = play("/write ../escaped.txt no\n/read /etc/hostname", "full_access")
    await outcomeOf(run)
    assert.isFalse(existsSync(inFolder("../escaped.txt")))
    const results = run.outputs.flatMap((output) =>
      output._tag === "Event" && output.event.type === "run.tool.result" ? [output.event.payload.status] : []
    )
    assert.deepStrictEqual(results, ["failed", "failed"])
  })
})

describe("Scripted directives", () => {
  it("runs a command and tells its exit code", async () => {
    const run = play("/shell echo out; exit 3")
    const { key, request } = await run.next("Approval")
    assert.deepInclude(request, { action: "shell", command: "echo out; exit 3", cwd: "." })
    run.answer(key, { decision: "allow", scope: "once" })
    await outcomeOf(run)
    const result = await run.next("Event", ({ event }) => event.type === "run.tool.result")
    assert.deepInclude(result.event.payload, { status: "failed", output: "out\n", exitCode: 3 })
  })

  it("takes further input, as an answer or as a separate script", async () => {
    const run = play("/say ready\n/wait")
    await run.next(
      "Event",
      ({ event }) => event.type === "run.message.completed" && event.payload.text === "ready"
    )
    // In one write: the second must be there when the first is answered, or the runtime is done.
    run.write(`${run.protocol.input("first")}${run.protocol.input("/say second")}`)
    assert.deepStrictEqual(await outcomeOf(run), { _tag: "Completed", text: "second" })
  })

  it("a cancel withdraws the approval, closes the call and ends the run", async () => {
    const run = play("/write a.txt never\n/say not reached")
    const { key } = await run.next("Approval")
    run.write(run.protocol.cancel())
    assert.deepStrictEqual(await outcomeOf(run), { _tag: "Cancelled" })
    assert.deepStrictEqual(run.shape.slice(-4), [
      "Approval",
      "ApprovalWithdrawn",
      "run.tool.result",
      "Outcome"
    ])
    assert.strictEqual((await run.next("ApprovalWithdrawn")).key, key)
    assert.deepStrictEqual(invariantFindings(run.outputs), [])
  })

  it("a cancel stops a sleep and a stream", async () => {
    for (const directive of ["/sleep 60000", "/stream 1000000 100 40"]) {
      const run = play(`/say ready\n${directive}`)
      await run.next("Event", ({ event }) => event.type === "run.message.completed")
      run.write(run.protocol.cancel())
      assert.deepStrictEqual(await outcomeOf(run), { _tag: "Cancelled" })
    }
  })

  it("streams as many deltas as asked, each with its sending time and size", async () => {
    const run = play("/stream 5000 0 80\n/stream 20 2000 40")
    await outcomeOf(run)
    const texts = run.outputs.flatMap((output) =>
      output._tag === "Event" && output.event.type === "run.message.delta" ? [output.event.payload.text] : []
    )
    assert.deepStrictEqual([texts.filter(({ length }) => length === 80).length, texts.length], [5000, 5020])
    assert.isTrue(texts.every((text) => /^\d{6,} x+$/.test(text)))
  })

  it("fails in its own words, and says where a directive is unknown", async () => {
    for (const [prompt, message] of [
      ["/fail the disk is full", "the disk is full"],
      ["/dance", "There is no directive /dance."]
    ] as const) {
      const outcome = await outcomeOf(play(prompt))
      assert.deepStrictEqual(outcome, {
        _tag: "Failed",
        error: { code: "runtime_unavailable", message, details: { reason: "script_failed" } }
      })
    }
  })

  it("reports the exit code or the signal when the program ends silently", async () => {
    for (const [prompt, details] of [
      ["/exit 7", { reason: "crashed", exitCode: 7 }],
      ["/exit 0", { reason: "no_result", exitCode: 0 }],
      ["/crash", { reason: "crashed", signal: "SIGKILL" }]
    ] as const) {
      const run = play(prompt)
      await run.ended
      const outcome = await outcomeOf(run)
      assert.deepStrictEqual(outcome._tag === "Failed" ? outcome.error.details : undefined, details)
    }
  })

  it("prints garbage that breaks nothing", async () => {
    const run = play("/say before\n/garbage 200\n/say after")
    assert.deepStrictEqual(await outcomeOf(run), { _tag: "Completed", text: "after" })
    assert.isAbove(run.shape.filter((type) => type === "schema.validation_failed").length, 100)
    assert.deepStrictEqual(invariantFindings(run.outputs), [])
  })

  it("prints a line over the limit, which is dropped with its length", async () => {
    const run = play("/longline 12\n/say after")
    assert.deepStrictEqual(await outcomeOf(run), { _tag: "Completed", text: "after" })
    const failed = await run.next("Event", ({ event }) => event.type === "schema.validation_failed")
    assert.deepInclude(failed.event.payload, { bytes: 12 * 1024 * 1024 })
  })

  it("closes stdout and stays", async () => {
    const run = play("/say ready\n/close-stdout")
    await new Promise((resolve) => run.child.stdout.once("end", resolve))
    assert.isNull(run.child.exitCode)
    assert.strictEqual(run.lastText, "ready")
  })

  it("hangs through a protocol cancel and ignored signals, and dies of SIGKILL", async () => {
    const run = play("/ignore-signals\n/say ready\n/hang")
    await run.next("Event", ({ event }) => event.type === "run.message.completed")
    run.write(run.protocol.cancel())
    run.child.kill("SIGTERM")
    run.child.kill("SIGINT")
    run.child.stdin.end()
    run.child.kill("SIGKILL")
    const end = await run.ended
    assert.strictEqual(end.signal, "SIGKILL")
  })

  it("leaves children in its group, and a daemon outside it that holds stdout", async () => {
    const run = play("/children 2\n/daemon\n/forkloop\n/vanish")
    await outcomeOf(run)
    const messages = run.outputs.flatMap((output) =>
      output._tag === "Event" && output.event.type === "run.message.completed"
        ? [output.event.payload.text]
        : []
    )
    const pids = messages.map((text) => text.split(" ").slice(1).map(Number))
    leftBehind = pids.flat()
    assert.deepStrictEqual(
      pids.map(({ length }) => length),
      [2, 1, 1, 1]
    )
    await run.ended
    const [children = [], [daemon = 0] = [], , [vanished = 0] = []] = pids
    assert.isTrue([...children, daemon, vanished].every(isAlive), "they outlive the program")
    assert.isFalse(run.child.stdout.readableEnded, "the daemon holds stdout")
    run.stop()
    assert.isTrue(isAlive(daemon) && isAlive(vanished), "neither is in the group")
    // Between the fork and its own program it is a shell, which has variables.
    const environment = () => readFileSync(`/proc/${vanished}/environ`, "utf8")
    await until(() => Promise.resolve(environment() === "" || undefined), "a process without variables")
    assert.strictEqual(environment(), "")
  })

  it("makes artifacts of text and of files, byte for byte", async () => {
    const run = play(
      "/write notes.txt one\n/artifact a.md text/markdown # A\\nB\n/attach notes.txt image/png",
      "auto_edit"
    )
    await outcomeOf(run)
    const created = run.outputs.filter((output) => output._tag === "Artifact")
    assert.deepStrictEqual(created, [
      { _tag: "Artifact", name: "a.md", mediaType: "text/markdown", content: "# A\nB" },
      { _tag: "Artifact", name: "notes.txt", mediaType: "image/png", content: Buffer.from("one\n") }
    ])
    assert.deepStrictEqual(invariantFindings(run.outputs), [])
  })

  it("keeps the session that it resumes", async () => {
    const run = play("/say back", "ask", { resumeSessionId: "earlier" })
    await outcomeOf(run)
    const started = await run.next("Event", ({ event }) => event.type === "run.started")
    assert.deepInclude(started.event.payload, { runtimeSessionId: "earlier" })
  })
})

describe("Scripted questions", () => {
  const lastTextAfter = async (prompt: string, respond: (run: Conversation, key: string) => void) => {
    const run = play(prompt)
    const { key, request } = await run.next("InputRequested")
    respond(run, key)
    await outcomeOf(run)
    assert.deepStrictEqual(invariantFindings(run.outputs), [])
    return { request, text: run.lastText }
  }
  const respondWith =
    (response: InputResponse) =>
    (run: Conversation, key: string): void =>
      run.write(run.protocol.respond?.(key, response))

  it("asks with options or for a text, and says the answer", async () => {
    const chosen = await lastTextAfter(
      "/question Which? | A | ?B",
      respondWith({ _tag: "Answered", answers: { "1": ["2"] }, comment: "both work" })
    )
    assert.deepStrictEqual(chosen.request.questions, [
      {
        id: "1",
        text: "Which?",
        kind: "choice",
        options: [
          { id: "1", label: "A" },
          { id: "2", label: "B" }
        ],
        allowsOther: true,
        multiple: true
      }
    ])
    assert.strictEqual(chosen.text, 'answered {"1":["2"]} (both work)')
    const written = await lastTextAfter(
      "/question Why?",
      respondWith({ _tag: "Answered", answers: { "1": "so" } })
    )
    assert.strictEqual(written.request.questions?.[0]?.kind, "text")
    assert.strictEqual(written.text, 'answered {"1":"so"}')
  })

  it("asks what a form requests", async () => {
    const form: RequestedInput = {
      kind: "question",
      title: "Port",
      questions: [{ id: "p", text: "Port", kind: "number" }]
    }
    const { request, text } = await lastTextAfter(
      `/form ${JSON.stringify(form)}`,
      respondWith({ _tag: "Answered", answers: { p: 80 } })
    )
    assert.deepStrictEqual(request, form)
    assert.strictEqual(text, 'answered {"p":80}')
  })

  it("makes no choice without an answer", async () => {
    for (const reason of ["declined", "expired", "withdrawn"] as const) {
      const { text } = await lastTextAfter(
        "/question Which? | A | B",
        respondWith({ _tag: "Unanswered", reason })
      )
      assert.strictEqual(text, `unanswered: ${reason}`)
    }
  })

  it("writes a secret answer to its file", async () => {
    const { request } = await lastTextAfter(
      "/secret The password?",
      respondWith({ _tag: "Answered", answers: { "1": "hunter2" } })
    )
    assert.isTrue(request.questions?.[0]?.secret)
    assert.strictEqual(readFileSync(inFolder("secret.txt"), "utf8"), "hunter2")
  })

  it("says the decision about a plan, and takes its mode", async () => {
    const returned = await lastTextAfter(
      "/plan First\\nthen",
      respondWith({ _tag: "PlanReturned", comment: "smaller" })
    )
    assert.deepInclude(returned.request, { kind: "plan", plan: "First\nthen" })
    assert.strictEqual(returned.text, "returned (smaller)")
    const run = play("/plan Write it\n/write a.txt yes")
    const { key } = await run.next("InputRequested")
    respondWith({ _tag: "PlanApproved", mode: "auto_edit", endsRun: false })(run, key)
    await outcomeOf(run)
    assert.isTrue(existsSync(inFolder("a.txt")))
    assert.notInclude(run.shape, "Approval")
  })

  it("continues without an answer where it withdraws the question", async () => {
    for (const [directive, state] of [
      ["withdraw", "withdrawn"],
      ["self-answer", "self_answered"]
    ] as const) {
      const run = play(`/${directive} Which? | A`)
      await outcomeOf(run)
      const { key } = await run.next("InputRequested")
      assert.deepStrictEqual(await run.next("InputWithdrawn"), { _tag: "InputWithdrawn", key, state })
      assert.strictEqual(run.lastText, `went on: ${state}`)
    }
  })

  it("a cancel withdraws the question", async () => {
    const run = play("/question Which? | A")
    const { key } = await run.next("InputRequested")
    run.write(run.protocol.cancel())
    assert.deepStrictEqual(await outcomeOf(run), { _tag: "Cancelled" })
    assert.deepStrictEqual(await run.next("InputWithdrawn"), {
      _tag: "InputWithdrawn",
      key,
      state: "withdrawn"
    })
  })
})

describe("Scripted turns", () => {
  /** Outputs about turns and work, without the rest. */
  const course = (run: Conversation) =>
    run.outputs.filter(({ _tag }) => _tag === "Work" || _tag === "TurnStarted" || _tag === "Outcome")
  const completed = (text: string) => ({ _tag: "Outcome", outcome: { _tag: "Completed", text } }) as const

  it("works in the background after a turn, and starts a further turn by itself", async () => {
    const run = play(
      "/work w1 agent Write it\n/say up\n/end-turn\n/worked w1 completed continues\n/turn\n/say done"
    )
    await run.next("Outcome", ({ outcome }) => outcome._tag === "Completed" && outcome.text === "done")
    const work = { _tag: "Work", id: "w1", kind: "agent", title: "Write it" } as const
    assert.deepStrictEqual(course(run), [
      { ...work, state: "running" },
      completed("up"),
      { ...work, state: "completed", continues: true },
      { _tag: "TurnStarted" },
      completed("done")
    ])
    assert.deepStrictEqual(invariantFindings(run.outputs), [])
  })

  it("starts a turn without a pause, with the result of the turn before", async () => {
    const run = play("/say one\n/turn one\n/say two")
    await run.next("Outcome")
    assert.deepStrictEqual(course(run), [
      { _tag: "TurnStarted", ended: { _tag: "Completed", text: "one" } },
      completed("two")
    ])
  })

  it("ends a turn with a question, which takes its answer after the turn", async () => {
    const run = play("/say one\n/ask-next Which? | A\n/say two")
    const { key, request } = await run.next("InputRequested")
    assert.isTrue(request.startsTurn)
    await run.next("Outcome")
    const respond = run.protocol.respond?.(key, { _tag: "Answered", answers: { "1": "1" } })
    assert.isDefined(respond)
  })

  it("reports steps, notices and an image of a result", async () => {
    const run = play(
      "/steps completed Read | in_progress Write\n/notice compacted The text is shorter\n/image"
    )
    await outcomeOf(run)
    const { event: steps } = await run.next("Event", ({ event }) => event.type === "run.steps.updated")
    assert.deepStrictEqual(steps.payload, {
      steps: [
        { id: "1", text: "Read", state: "completed" },
        { id: "2", text: "Write", state: "in_progress" }
      ]
    })
    const { event: notice } = await run.next("Event", ({ event }) => event.type === "run.notice")
    assert.deepInclude(notice.payload, { kind: "compacted", text: "The text is shorter" })
    const { event: call } = await run.next("Event", ({ event }) => event.type === "run.tool.call")
    const { callId, mediaType } = await run.next("Artifact")
    assert.propertyVal(call.payload, "callId", callId)
    assert.strictEqual(mediaType, "image/png")
  })
})
