/** The Codex adapter against a process that talks like the real one: the recordings, played by `fixtures/bin/codex`. */
import type { RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import path from "node:path"
import { codex } from "../src/Codex.ts"
import { invariantFindings, deltasJoin } from "@corral/conformance/Invariants"
import { Conversation, workspace } from "./Conversation.ts"
import { fixtures } from "@corral/testing/recordings/Fixtures"

let folder: ReturnType<typeof workspace>
let running: Array<Conversation> = []

beforeEach(() => {
  folder = workspace({ "README.md": "# Demo\n\nHello world\n" })
})
afterEach(() => {
  for (const conversation of running) conversation.stop()
  running = []
  folder.remove()
})

const play = (
  recording: string,
  more: Partial<RunStart> = {},
  adapter: RuntimeAdapter = codex
): Conversation => {
  const start: RunStart = { prompt: "Please do the task.", mode: "ask", workspacePath: folder.path, ...more }
  const PATH = [`${fixtures}bin`, path.dirname(process.execPath), process.env["PATH"]].join(path.delimiter)
  const conversation = new Conversation(adapter, start, { PATH, CORRAL_PLAY: recording })
  running.push(conversation)
  return conversation
}
const inFolder = (name: string) => path.join(folder.path, name)
const outcomeOf = async (conversation: Conversation) => (await conversation.next("Outcome")).outcome

describe("a played codex", () => {
  it("answers the probe", () => {
    const ask = (args: ReadonlyArray<string>, env = {}) => {
      const result = spawnSync(process.execPath, [`${fixtures}bin/codex`, ...args], {
        env,
        encoding: "utf8"
      })
      return { code: result.status, stdout: result.stdout, stderr: result.stderr }
    }
    const { signedIn, versionArgs } = codex.probe
    assert.strictEqual(ask(versionArgs).stdout, "codex-cli 0.169.0\n")
    assert.isFalse(signedIn?.read(ask(signedIn.args)))
    assert.isTrue(signedIn?.read(ask(signedIn.args, { OPENAI_API_KEY: "key" })))
    assert.isUndefined(signedIn?.read({ code: 2, stdout: "", stderr: "error: unrecognized subcommand" }))
  })

  it("runs the command that was allowed, and leaves when its stdin ends", async () => {
    const run = play("approval-allowed")
    const { key, request } = await run.next("Approval")
    assert.isFalse(existsSync(inFolder("approved.txt")))
    assert.strictEqual(request.command, "touch approved.txt && echo created")
    run.answer(key, { decision: "allow", scope: "once" })
    assert.strictEqual((await outcomeOf(run))._tag, "Completed")
    assert.isTrue(existsSync(inFolder("approved.txt")))
    assert.strictEqual((await run.ended).code, 0)
    assert.deepStrictEqual([...invariantFindings(run.outputs), ...deltasJoin(run.outputs)], [])
    assert.isFalse(run.outputs.some(({ _tag }) => _tag === "ApprovalWithdrawn" || _tag === "Unknown"))
  })

  it("continues without the denied action, in the same conversation", async () => {
    const run = play("approval-allowed")
    const { key } = await run.next("Approval")
    run.answer(key, { decision: "deny", scope: "once", reason: "Not now." })
    assert.deepInclude(await outcomeOf(run), { _tag: "Completed", text: "Finished after the decision." })
    assert.isFalse(existsSync(inFolder("approved.txt")))
    const result = await run.next("Event", ({ event }) => event.type === "run.tool.result")
    assert.deepInclude(result.event.payload, { status: "denied" })
    assert.deepStrictEqual(invariantFindings(run.outputs), [])
  })

  it("a decision that cancels ends the run", async () => {
    const run = play("approval-allowed")
    const { key } = await run.next("Approval")
    run.answer(key, { decision: "cancel", scope: "once" })
    assert.strictEqual((await outcomeOf(run))._tag, "Cancelled")
  })

  it("edits and writes files by their workspace-relative names", async () => {
    const write = play("approval-write-allowed")
    const requested = await write.next("Approval")
    assert.deepStrictEqual(requested.request.files, ["notes.txt"])
    write.answer(requested.key, { decision: "allow", scope: "run" })
    await outcomeOf(write)
    assert.strictEqual(readFileSync(inFolder("notes.txt"), "utf8"), "line one\nline two\n")
    const edit = play("file-edit", { mode: "full_access" })
    await outcomeOf(edit)
    assert.strictEqual(readFileSync(inFolder("README.md"), "utf8"), "# Demo\n\nHello edited world\n")
    const changed = await edit.next("Event", ({ event }) => event.type === "run.file.changed")
    assert.deepInclude(changed.event.payload, { path: "README.md", change: "modified" })
  })

  it("takes a second message in the same process", async () => {
    const run = play("multi-turn", { prompt: "First." })
    run.write(run.protocol.input("Second."))
    assert.deepInclude(await outcomeOf(run), { text: "Second turn answer, I remember the first." })
  })

  it("is interrupted while it asks, and while it speaks", async () => {
    for (const recording of ["approval-allowed", "cancel-interrupt"]) {
      const run = play(recording)
      if (recording === "approval-allowed") await run.next("Approval")
      else await run.next("Event", ({ event }) => event.type === "run.message.delta")
      run.write(run.protocol.cancel())
      assert.strictEqual((await outcomeOf(run))._tag, "Cancelled")
      assert.strictEqual((await run.ended).code, 0)
      assert.deepStrictEqual(invariantFindings(run.outputs), [])
    }
  })

  it("is not signed in, leaves before its answer, is killed: each told apart", async () => {
    const reasonOf = async (run: Conversation) => {
      const outcome = await outcomeOf(run)
      return outcome._tag === "Failed" ? outcome.error.details?.["reason"] : undefined
    }
    assert.strictEqual(await reasonOf(play("auth-missing")), "env_missing")
    const left = play("approval-never-answered")
    await left.next("Approval")
    left.child.stdin.end()
    assert.strictEqual(await reasonOf(left), "no_result")
    const killed = play("cancel-sigkill-in-tool")
    await killed.next("Event", ({ event }) => event.type === "run.tool.call")
    killed.child.kill("SIGKILL")
    assert.strictEqual(await reasonOf(killed), "crashed")
  })
})
