/**
 * The unmodified workbench of Visual Studio Code at an Edge, with the scripted agent and with the real Claude Code: sessions, prompts, decisions,
 * questions, changes, stops and reloads, two windows, and a decision of another client at the same time.
 */
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { installWorkbench, Workbench, type WorkbenchWindow } from "@corral/testing/editor/Workbench"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { existsSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { RIGHT_KEY } from "./FakeModels.ts"
import { install } from "./Installation.ts"
import { programs } from "./Programs.ts"
import { COLOURS, NEW, OLD, promptFor } from "./Script.ts"
import { Stage } from "./Stage.ts"

const place = await installWorkbench()
if (place.missing !== undefined) console.log(`the workbench is skipped: ${place.missing}`)
const claude = await install(
  programs.find(({ command }) => command === "claude") ?? assert.fail("Claude Code is a program of the tests")
)

interface Served {
  readonly port: number
  readonly token: string
}

/** Pictures of windows, if a folder for them is named. */
const pictures = process.env["CORRAL_TEST_PICTURES"]
const picture = async (window: WorkbenchWindow, name: string): Promise<void> => {
  if (pictures === undefined) return
  mkdirSync(pictures, { recursive: true })
  await window.picture(join(pictures, `${name}.png`))
}

const openWorkbench = async ({ port, token }: Served): Promise<Workbench> => {
  const workbench = await Workbench.open(place, { port, token })
  onTestFinished(() => workbench.close())
  return workbench
}

const openWindow = async (workbench: Workbench, folder: string): Promise<WorkbenchWindow> => {
  const window = await workbench.window(folder)
  // Before the workbench is closed.
  onTestFinished(async ({ task }) => {
    if (task.result?.state !== "fail") return
    console.log(await window.text())
    await picture(window, "failed")
  })
  return window
}

const hasSession = (window: WorkbenchWindow, text: string) =>
  until(
    async () => (await window.sessions()).some((line) => line.includes(text)) || undefined,
    `the session ${text}`,
    60_000
  )

describe.skipIf(place.missing !== undefined)("The workbench", { timeout: 400_000 }, () => {
  it("drives the scripted agent: sessions, decisions, questions, changes, a stop and reloads", async () => {
    const edge = await openEdgeProcess()
    const earlier = await edge.client.create("/say from a terminal")
    await edge.client.result(earlier.id, 20_000)
    const workbench = await openWorkbench(edge)
    const window = await openWindow(workbench, edge.workspace)

    // A run of the command line is a session of the list.
    await hasSession(window, "from a terminal")

    await window.begin("Scripted runtime")
    await window.prompt("/say Hello\n/write one.txt hello\n/say approval done")
    await window.waits("Allow once")
    await picture(window, "confirmation")

    // A reload in the middle of the confirmation.
    await window.reload()
    await hasSession(window, "Hello")
    await window.open("Hello")
    await window.waits("Allow once")
    await window.decide("Allow once")
    await window.shows("approval done")
    await window.shows("Allowed once by local in an editor")
    assert.isTrue(existsSync(join(edge.workspace, "one.txt")))

    // The change of the run, which has written directly.
    await window.changes("one.txt", "hello")
    await picture(window, "changes")
    await window.reload()
    await hasSession(window, "Hello")
    await window.open("Hello")

    await window.prompt("/write two.txt hello\n/say without it")
    await window.waits("Deny")
    await window.decide("Deny")
    await window.shows("without it")
    assert.isFalse(existsSync(join(edge.workspace, "two.txt")))

    await window.prompt("/question Which colour? | Red | Blue\n/say after the answer")
    await window.asks("Which colour?")
    await picture(window, "question")
    await window.choose("Not decided")
    await window.shows("Choose an answer")
    const [open] = await edge.client.inputs("state=pending")
    assert.isDefined(open, "the preselected option is no answer")
    await window.asks("Which colour?")
    await window.choose("Blue")
    await window.shows("after the answer")
    const answered = await edge.client.input(open.id)
    assert.deepInclude(answered, { state: "answered", origin: "editor" })

    // A message during a turn is input of the run.
    await window.prompt("/say waiting\n/wait\n/say after the input")
    await window.shows(/\nwaiting/)
    await window.send("input of a person")
    await window.shows("after the input")

    await window.prompt("/say hanging\n/hang")
    await window.shows(/\nhanging/)
    await window.stop()
    await window.idle()
    const stopped = await until(async () => {
      const { body } = await edge.client.ask("GET", "/v1/runs?limit=1")
      const [run] = Object(body).items
      return run?.state === "cancelled" ? run : undefined
    }, "the stopped run")
    assert.include(stopped.input.text, "hanging")
  })

  it("shows each decision in two windows, also when they and another client decide at the same time", async () => {
    const edge = await openEdgeProcess()
    const workbench = await openWorkbench(edge)
    const first = await openWindow(workbench, edge.workspace)
    await first.begin("Scripted runtime")
    await first.prompt("/say Shared\n/write zero.txt hello\n/say ready")
    await first.waits("Allow once")
    const second = await openWindow(workbench, edge.workspace)
    await hasSession(second, "Shared")
    await second.open("Shared")
    await second.waits("Allow once")
    await second.decide("Allow once")
    for (const window of [first, second]) await window.shows("ready")

    for (const round of [1, 2, 3]) {
      await first.prompt(`/write raced-${round}.txt hello\n/say round ${round} is over`)
      for (const window of [first, second]) await window.waits("Allow once")
      const [approval] = await edge.client.approvals("state=pending")
      assert.isDefined(approval)
      const body = { runId: approval.runId, approvalId: approval.id, decision: "deny" }
      await Promise.allSettled([
        first.decide("Allow once"),
        second.decide("Deny"),
        edge.client.ask("POST", "/v1/permissions/decide", { body })
      ])
      const line = `Write raced-${round}.txt`
      for (const window of [first, second]) {
        await window.shows(`round ${round} is over`)
        await window.shows(new RegExp(`(Allowed once|Denied) by local in (an editor|a terminal): ${line}`))
        assert.strictEqual(await window.openRequests(), 0, "no request is left open")
      }
      const decided = await edge.client.approval(approval.id)
      assert.strictEqual(existsSync(join(edge.workspace, `raced-${round}.txt`)), decided.state === "approved")
      const how = decided.state === "approved" ? "Allowed once" : "Denied"
      const where = decided.origin === "editor" ? "an editor" : "a terminal"
      for (const window of [first, second]) await window.shows(`${how} by local in ${where}: ${line}`)
    }
    await picture(second, "second-window")
  })

  it.skipIf(claude.missing !== undefined)(
    "drives the real Claude Code: a prompt, decisions, a question, changes, a stop and a reload",
    async () => {
      const stage = await Stage.open(claude, "claude-code", RIGHT_KEY)
      onTestFinished(() => stage.close())
      const { edge } = stage
      const workbench = await openWorkbench(edge)
      const window = await openWindow(workbench, edge.workspace)
      await window.begin("Claude Code")

      await window.prompt(promptFor("say", "Hello from Claude"))
      await window.shows(/Hello from Claude[^\]]*$/)
      await window.idle()

      await window.prompt(promptFor("run", "touch allowed.txt && echo allowed"))
      await window.waits("Allow once")
      await picture(window, "claude-confirmation")
      await window.reload()
      await hasSession(window, "Hello from Claude")
      await window.open("Hello from Claude")
      await window.waits("Allow once")
      await window.decide("Allow once")
      await window.shows("That was all: run touch allowed.txt")
      assert.isTrue(existsSync(join(edge.workspace, "allowed.txt")))

      await window.prompt(promptFor("run", "touch denied.txt && echo denied"))
      await window.waits("Deny")
      await window.decide("Deny")
      await window.idle()
      assert.isFalse(existsSync(join(edge.workspace, "denied.txt")))

      await window.prompt(promptFor("ask", "Which colour do you want?"))
      await window.asks("Which colour do you want?")
      await picture(window, "claude-question")
      await window.choose(COLOURS[1])
      await window.shows("That was all: ask Which colour")
      assert.include(stage.modelRequests.at(-1), COLOURS[1])

      await window.prompt(promptFor("edit", "README.md"))
      await window.waits("Allow once")
      await window.decide("Allow once")
      await window.shows("That was all: edit README.md")
      assert.include(stage.file("README.md"), NEW)
      await window.changes("README.md", OLD, NEW)
      await picture(window, "claude-changes")
      await window.reload()
      await window.open("Hello from Claude")

      await window.prompt(promptFor("run", "touch begun.txt && sleep 300"))
      await window.waits("Allow once")
      await window.decide("Allow once")
      await until(
        async () => existsSync(join(edge.workspace, "begun.txt")) || undefined,
        "the command",
        60_000
      )
      await window.stop()
      await window.idle()
      const cancelled = await until(async () => {
        const { body } = await edge.client.ask("GET", "/v1/runs?limit=1")
        return Object(body).items[0]?.state === "cancelled" || undefined
      }, "the cancelled run")
      assert.isTrue(cancelled)
    }
  )
})
