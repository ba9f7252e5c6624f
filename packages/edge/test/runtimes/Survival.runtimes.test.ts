/**
 * The real programs outlive their Edge, without a confinement and confined: it is killed while an approval is open, during a tool call, and while
 * the model answers. The next one continues the run, and its log says what that of an uninterrupted run says.
 */
import type { RunMode } from "@corral/domain/run/Run"
import { until } from "@corral/testing/time/Until"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { isDeepStrictEqual } from "node:util"
import { withConfinements } from "./Confinements.ts"
import { RIGHT_KEY } from "./FakeModels.ts"
import { type EdgeEnd, historyOf, interrupt, streamedText, typesBeyond } from "./InterruptedRun.ts"
import { ownSandbox } from "./Programs.ts"
import { closing, promptFor } from "./Script.ts"
import { type BegunRun, Stage } from "./Stage.ts"
import { installSubjects } from "./Subjects.ts"

const SURVIVING = { CORRAL_EDGE_ORPHAN_MS: "120000" }

const report: Array<string> = []
afterAll(() => console.log(report.join("\n")))

const subjects = await installSubjects()

const allow = () => "allow" as const

/** Text of the first answer. */
const FIRST = "Now: run."

/** A command that begins, waits for a file, and ends. */
const waiting = (name: string) =>
  `touch ${name}-begun && while ! test -e ${name}-go; do sleep 0.1; done && touch ${name}-done && echo ${name}`

describe.each(withConfinements(subjects))("$agentId, confinement $confinement", (subject) => {
  const { adapter, agentId, confinement, place } = subject
  if (place.missing !== undefined) {
    console.log(`${agentId} is skipped: ${place.missing}`)
    it.skip(`is driven: ${place.missing}`)
    return
  }
  const { approvals } = adapter.capabilities
  const silent: RunMode = confinement === "off" ? "full_access" : "auto_edit"
  const mode: RunMode = approvals ? "ask" : silent
  const act = ownSandbox.has(agentId) ? "escape" : "run"
  let stage: Stage
  beforeAll(async () => {
    stage = await Stage.open(place, agentId, RIGHT_KEY, {
      confinement,
      grants: ["full_access"],
      env: () => SURVIVING
    })
  })
  afterAll(() => stage.close())

  const hasFile = (name: string) =>
    until(async () => existsSync(join(stage.edge.workspace, name)) || undefined, name, 60_000)
  const stop = (run: BegunRun, how: EdgeEnd, meanwhile?: () => unknown) =>
    interrupt(stage, run, how, meanwhile)

  /** Lets the run end, and compares it with one that is not interrupted. A program that repeats a part of its turn is compared by its last text. */
  const complete = async (run: BegunRun, subjectOfAct: string, repeats = false) => {
    const { end, events } = await stage.end(run, allow, mode)
    const last = closing({ act, subject: subjectOfAct })
    assert.strictEqual(end.type, "run.completed", JSON.stringify(end.payload))
    const history = historyOf(events)
    assert.strictEqual(history.filter((line) => line === `text: ${last}`).length, 1, history.join("\n"))
    const plain = await stage.play(promptFor(act, subjectOfAct), allow, mode)
    const expected = historyOf(plain.events)
    const isSame = isDeepStrictEqual(history, expected)
    if (!repeats) assert.deepStrictEqual(history, expected)
    const note = `${place.program.name} ${place.program.version}, ${agentId}, confinement ${confinement}`
    const more = typesBeyond(events, plain.events)
    report.push(`${note}, ${subjectOfAct}: ${isSame ? "same" : JSON.stringify(history)}, more: ${more}`)
  }

  /** Stops the Edge at the approval of the command, which the next Edge allows. */
  const stopAtApproval = async (command: string) => {
    const waitingRun = await stage.begin(promptFor(act, command), mode)
    const approvalId = await stage.question(waitingRun)
    const run = await stop(waitingRun, "SIGTERM")
    await stage.edge.client.decide(run.runId, approvalId, "allow")
    return run
  }

  it.runIf(approvals)("runs a tool that the next Edge allows", async () => {
    const command = "touch allowed.txt && echo allowed"
    const run = await stage.begin(promptFor(act, command), mode)
    const approvalId = await stage.question(run)
    const next = await stop(run, "SIGKILL")
    assert.strictEqual((await stage.edge.client.approval(approvalId)).state, "pending")
    assert.isFalse(existsSync(join(stage.edge.workspace, "allowed.txt")))
    await complete(next, command)
    stage.file("allowed.txt")
  })

  it("completes a tool call that ends while no Edge is there", async () => {
    const command = waiting("killed")
    const run = await stage.playUntil(promptFor(act, command), "killed-begun", mode)
    const next = await stop(run, "SIGKILL", async () => {
      stage.write("killed-go", "")
      await hasFile("killed-done")
    })
    await complete(next, command)
  })

  it.each(["beginning", "middle"] as const)(
    "continues when the Edge is killed at the %s of an answer",
    async (at) => {
      const commands = `touch first-${at}.txt && echo first ;; touch second-${at}.txt && echo second`
      const answers = stage.holdAnswers(1, at)
      const run = await stage.playWhile(promptFor(act, commands), answers.reached, "the request", mode)
      // The first half of the answer has arrived, and a part of it is in the log.
      if (at === "middle" && adapter.capabilities.deltas)
        await run.reader.event(() => streamedText(run.reader.events).length > FIRST.length, 60_000)
      const next = await stop(run, "SIGKILL", () => answers.release())
      // The connection to the model goes through the Edge, so the program sends its request again.
      await complete(next, commands, at === "middle" && confinement === "required")
      stage.file(`second-${at}.txt`)
    }
  )

  it("continues when the Edge is stopped at an approval and during a tool call", async () => {
    const command = waiting("stopped")
    const run = approvals
      ? await stopAtApproval(command)
      : await stage.playUntil(promptFor(act, command), "stopped-begun", mode)
    await hasFile("stopped-begun")
    const next = await stop(run, "SIGTERM", async () => {
      stage.write("stopped-go", "")
      await hasFile("stopped-done")
    })
    await complete(next, command)
  })
})
