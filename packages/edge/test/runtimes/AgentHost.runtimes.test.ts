/**
 * The unmodified workbench of Visual Studio Code, with the scripted agent at an Edge, and with the real Claude Code at an Edge and on another device: sessions,
 * prompts, decisions, questions, changes, stops and reloads, two windows, and a decision of another client at the same time.
 */
import { openEdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { installWorkbench, Workbench, type WorkbenchWindow } from "@corral/testing/editor/Workbench"
import { openJoined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type EditorHost, hostAtEdge, hostAtHub } from "./EditorHost.ts"
import { FakeModels, RIGHT_KEY } from "./FakeModels.ts"
import { environmentOf, install } from "./Installation.ts"
import { programs } from "./Programs.ts"
import { COLOURS, NEW, OLD, promptFor } from "./Script.ts"
import { README } from "./Stage.ts"

const place = await installWorkbench()
if (place.missing !== undefined) console.log(`the workbench is skipped: ${place.missing}`)
const claude = await install(
  programs.find(({ command }) => command === "claude") ?? assert.fail("Claude Code is a program of the tests")
)

/** Pictures of windows, if a folder for them is named. */
const pictures = process.env["CORRAL_TEST_PICTURES"]
const picture = async (window: WorkbenchWindow, name: string): Promise<void> => {
  if (pictures === undefined) return
  mkdirSync(pictures, { recursive: true })
  await window.picture(join(pictures, `${name}.png`))
}

const openWorkbench = async ({ address }: EditorHost): Promise<Workbench> => {
  const workbench = await Workbench.open(place, address)
  onTestFinished(() => workbench.close())
  return workbench
}

const openWindow = async (workbench: Workbench, { folder }: EditorHost): Promise<WorkbenchWindow> => {
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

const openSession = async (window: WorkbenchWindow, text: string): Promise<void> => {
  await hasSession(window, text)
  await window.open(text)
}

/** Two windows and another client decide at the same time: one of them wins, and both windows name it. `prompt`: makes the agent write the file. */
const raceDecisions = async (
  host: EditorHost,
  windows: readonly [WorkbenchWindow, WorkbenchWindow],
  prompt: (file: string) => { readonly text: string; readonly end: string }
): Promise<void> => {
  for (const round of [1, 2, 3]) {
    const file = `raced-${round}.txt`
    const { end, text } = prompt(file)
    const [first, second] = windows
    await first.prompt(text)
    const [allow, refuse] = await Promise.all([first.armed("Allow once"), second.armed("Deny")])
    const approval = await host.approval()
    await Promise.all([allow(), refuse(), approval.deny()])
    const { origin, state } = await approval.decided()
    const how = state === "approved" ? "Allowed once" : "Denied"
    const where = origin === "editor" ? "an editor" : host.otherPlace
    for (const window of windows) {
      await window.hasLine(end)
      await window.shows(new RegExp(`${how} by ${host.person} in ${where}: .*${file}`))
      assert.strictEqual(await window.openRequests(), 0, "no request is left open")
    }
    assert.strictEqual(existsSync(join(host.workspace, file)), state === "approved")
  }
}

/** The real Claude Code, and what its model was asked. */
interface ServedClaude {
  readonly host: EditorHost
  readonly requests: ReadonlyArray<string>
}

/** Claude Code with a model of the tests. `open`: starts an Edge with this environment. */
const serveClaude = async (
  open: (env: Readonly<Record<string, string>>) => Promise<EditorHost>
): Promise<ServedClaude> => {
  const models = new FakeModels()
  await models.start()
  const home = mkdtempSync(join(realpathSync(tmpdir()), "corral-home-"))
  onTestFinished(() => {
    models.stop()
    rmSync(home, { recursive: true, force: true })
  })
  const host = await open(environmentOf(claude, { home, models: models.url, key: RIGHT_KEY }))
  models.workspace = host.workspace
  writeFileSync(join(host.workspace, "README.md"), README)
  return { host, requests: models.requests }
}

const places = [
  {
    where: "at an Edge",
    serve: async (env: Readonly<Record<string, string>>) => hostAtEdge(await openEdgeProcess({ env }))
  },
  {
    where: "on another device",
    serve: async (env: Readonly<Record<string, string>>) => hostAtHub(await openJoined({ edge: { env } }))
  }
]

/** A prompt, a confirmation with a reload in the middle, and a refusal. */
const decideWithClaude = async ({ workspace }: EditorHost, window: WorkbenchWindow): Promise<void> => {
  await window.prompt(promptFor("say", "Hello from Claude"))
  await window.hasLine("Hello from Claude")

  await window.prompt(promptFor("run", "touch allowed.txt && echo allowed"))
  await window.waits("Allow once")
  await picture(window, "claude-confirmation")
  await window.reload()
  await openSession(window, "Hello from Claude")
  await window.waits("Allow once")
  await window.decide("Allow once")
  await window.shows("That was all: run touch allowed.txt")
  assert.isTrue(existsSync(join(workspace, "allowed.txt")))

  await window.prompt(promptFor("run", "touch denied.txt && echo denied"))
  await window.waits("Deny")
  await window.decide("Deny")
  await window.shows("That was all: run touch denied.txt")
  assert.isFalse(existsSync(join(workspace, "denied.txt")))
}

/** A question, a sub-agent, a change set and a stop. */
const finishWithClaude = async ({ host, requests }: ServedClaude, window: WorkbenchWindow): Promise<void> => {
  await window.prompt(promptFor("ask", "Which colour do you want?"))
  await window.asks("Which colour do you want?")
  await picture(window, "claude-question")
  await window.choose(COLOURS[1])
  await window.shows("That was all: ask Which colour")
  assert.include(requests.at(-1), COLOURS[1])

  // The turn ends, and the sub-agent continues in the background: what waits for a decision is not decided by the end of the turn.
  await window.prompt(promptFor("delegate", "touch nested.txt"))
  await window.waits("Allow once")
  await picture(window, "claude-sub-agent")
  await host.approval()
  await window.decide("Allow once")
  await window.shows("A task of child: completed")
  assert.isTrue(existsSync(join(host.workspace, "nested.txt")))

  await window.prompt(promptFor("edit", "README.md"))
  await window.waits("Allow once")
  await window.decide("Allow once")
  await window.shows("That was all: edit README.md")
  assert.include(readFileSync(join(host.workspace, "README.md"), "utf8"), NEW)
  // Until then the window offers the changes of the run before.
  await window.shows(/1 File\s*\+1\s*-1/)
  await window.changes("README.md", OLD, NEW)
  await picture(window, "claude-changes")
  await window.reload()
  await openSession(window, "Hello from Claude")

  await window.prompt(promptFor("run", "touch begun.txt && sleep 300"))
  await window.waits("Allow once")
  await window.decide("Allow once")
  const isRunning = async () => existsSync(join(host.workspace, "begun.txt")) || undefined
  await until(isRunning, "the command", 60_000)
  await window.stop()
  await window.idle()
  await host.lastRunIs("cancelled")
  await window.prompt(promptFor("say", "Here again"))
  await window.hasLine("Here again")
}

describe.skipIf(place.missing !== undefined)("The workbench", { timeout: 900_000 }, () => {
  it("drives the scripted agent: sessions, decisions, questions, changes, a stop and reloads", async () => {
    const edge = await openEdgeProcess()
    const host = hostAtEdge(edge)
    const earlier = await edge.client.create("/say from a terminal")
    await edge.client.result(earlier.id, 20_000)
    const window = await openWindow(await openWorkbench(host), host)

    // A run of the command line is a session of the list.
    await hasSession(window, "from a terminal")

    await window.begin("Scripted runtime")
    await window.prompt("/say Hello\n/write one.txt hello\n/say approval done")
    await window.waits("Allow once")
    await picture(window, "confirmation")

    // A reload in the middle of the confirmation.
    await window.reload()
    await openSession(window, "Hello")
    await window.waits("Allow once")
    await window.decide("Allow once")
    await window.hasLine("approval done")
    await window.shows("Allowed once by local in an editor")
    assert.isTrue(existsSync(join(edge.workspace, "one.txt")))

    // The change of the run, which has written directly.
    await window.changes("one.txt", "hello")
    await picture(window, "changes")
    await window.reload()
    await openSession(window, "Hello")

    await window.prompt("/write two.txt hello\n/say without it")
    await window.waits("Deny")
    await window.decide("Deny")
    await window.hasLine("without it")
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
    await window.hasLine("after the answer")
    assert.deepInclude(await edge.client.input(open.id), { state: "answered", origin: "editor" })

    // A message during a turn is input of the run.
    await window.prompt("/say waiting\n/wait\n/say after the input")
    await window.hasLine("waiting")
    await window.send("input of a person")
    await window.hasLine("after the input")

    await window.prompt("/say hanging\n/hang")
    await window.hasLine("hanging")
    await window.stop()
    await window.idle()
    await host.lastRunIs("cancelled")
    await window.prompt("/say after the stop")
    await window.hasLine("after the stop")
  })

  it("shows each decision in two windows, also when they and another client decide at the same time", async () => {
    const host = hostAtEdge(await openEdgeProcess())
    const workbench = await openWorkbench(host)
    const first = await openWindow(workbench, host)
    await first.begin("Scripted runtime")
    await first.prompt("/say Shared\n/write zero.txt hello\n/say ready")
    await first.waits("Allow once")
    const second = await openWindow(workbench, host)
    await openSession(second, "Shared")
    await second.waits("Allow once")
    await second.decide("Allow once")
    for (const window of [first, second]) await window.hasLine("ready")
    await raceDecisions(host, [first, second], (file) => ({
      text: `/write ${file} hello\n/say ${file} is over`,
      end: `${file} is over`
    }))
    await picture(second, "second-window")
  })

  describe.skipIf(claude.missing !== undefined).each(places)(
    "with the real Claude Code $where",
    ({ serve }) => {
      it("prompts, decides, reloads, answers, reads changes and stops", async () => {
        const served = await serveClaude(serve)
        const window = await openWindow(await openWorkbench(served.host), served.host)
        await window.begin("Claude Code")
        await decideWithClaude(served.host, window)
        await finishWithClaude(served, window)
      })

      it("has one winner when two windows and another client decide at the same time", async () => {
        const { host } = await serveClaude(serve)
        const workbench = await openWorkbench(host)
        const first = await openWindow(workbench, host)
        await first.begin("Claude Code")
        await first.prompt(promptFor("say", "Shared"))
        await first.hasLine("Shared")
        const second = await openWindow(workbench, host)
        await openSession(second, "Shared")
        await raceDecisions(host, [first, second], (file) => ({
          text: promptFor("run", `touch ${file}`),
          end: `That was all: run touch ${file}`
        }))
      })
    }
  )
})
