/**
 * The real programs delegate and work in the background, behind an Edge: what they have begun is done when the run is completed. What is on
 * disk, in the diff and in the events is what the program does alone. What a program does not offer its model is skipped, and says so.
 *
 * With `CORRAL_TEST_VERSIONS=newest` the newest versions are driven, and the report names the outputs that their adapters do not know.
 */
import type { Envelope } from "@corral/domain/run/RunEvent"
import type { RunMode } from "@corral/domain/run/Run"
import { assert, describe, it } from "@effect/vitest"
import { isDeepStrictEqual } from "node:util"
import { changesAlone } from "./AloneRun.ts"
import { type DrivenAgent, driveEach, endingOf, payloadsOf } from "./DrivenAgents.ts"
import type { Installed } from "./Installation.ts"
import { ownSandbox } from "./Programs.ts"
import { type Act, promptFor } from "./Script.ts"
import { type Played, README } from "./Stage.ts"

/** Agents whose program does not say when a command in the background ends. A person finishes their runs. */
const withoutEnds: ReadonlySet<string> = new Set(["kimi-acp", "gemini-acp", "qwen"])

/** Agents whose program does not say either when a goal or a planned job ends. */
const withoutLaterEnds: ReadonlySet<string> = new Set(["kimi-acp"])

/** Agents whose program ends its turn only when its commands have ended. */
const holdsItsTurn: ReadonlySet<string> = new Set(["copilot-acp", "copilot"])

/** Agents whose program ends with commands in the background, and ends them. Their runs say so. */
const leavesItsCommands: ReadonlySet<string> = new Set(["gemini"])

/** Files that each act writes, and after how many seconds. */
const acts: ReadonlyArray<readonly [act: Act, seconds: ReadonlyArray<number>]> = [
  ["delegate", [1]],
  ["background", [2]],
  ["pair", [2, 1]],
  ["nest", [1]],
  ["goal", [0]],
  ["wake", [0]],
  ["cron", [0]]
]

/** Acts that wait for a clock of the program. */
const takesLong: ReadonlySet<Act> = new Set(["wake", "cron"])

/** What programs leave alone, by program and prompt: several adapters start the same program. */
const alone = new Map<string, ReturnType<typeof changesAlone>>()
const changesOnce = (place: Installed, prompt: string): ReturnType<typeof changesAlone> => {
  const key = `${place.program.name}: ${prompt}`
  const changes = alone.get(key) ?? changesAlone(place, prompt)
  alone.set(key, changes)
  return changes
}

/** A prompt and the files that it leads to, of an act in a mode. */
const taskOf = (act: Act, seconds: ReadonlyArray<number>, suffix: string) => {
  const names = seconds.map((_, at) => `${act}-${at + 1}-${suffix}.txt`)
  const commands = names.map((name, at) => `sleep ${seconds[at]} && cp README.md ${name}`)
  return {
    subject: commands.join(" ;; "),
    first: names[0] ?? "",
    files: Object.fromEntries(names.map((name) => [name, README]))
  }
}

/** The calls that a call is part of, from the innermost. */
const ancestryOf = (events: ReadonlyArray<Envelope>, callId: unknown): ReadonlyArray<unknown> => {
  const call = payloadsOf(events, "run.tool.call").find((each) => each["callId"] === callId)
  const parent = call?.["parentCallId"]
  return parent === undefined ? [] : [parent, ...ancestryOf(events, parent)]
}

/** Claude Code does not print the calls of a sub-agent of a sub-agent, but the requests of both. */
const hasCall = (events: ReadonlyArray<Envelope>, callId: unknown): boolean =>
  payloadsOf(events, "run.tool.call").some((call) => call["callId"] === callId)

/** Why a program, or its adapter, refused a step: then the model knows that its work is not done. */
const refusalIn = (events: ReadonlyArray<Envelope>): string | undefined => {
  const refused = payloadsOf(events, "run.tool.result").find(
    ({ status }) => status === "failed" || status === "denied"
  )
  return refused === undefined ? undefined : String(refused["output"]).slice(0, 120)
}

/** How deep each command of an act is nested, in the order of their calls. */
const depthsOf = ({ events }: Played, files: object): ReadonlyArray<number> =>
  payloadsOf(events, "run.tool.call")
    .filter(({ label }) => Object.keys(files).some((name) => String(label).includes(name)))
    .map(({ callId }) => ancestryOf(events, callId).length)

/** What is on disk is what the diff has, and the files that events name are among them. */
const assertReported = ({ changes, diff, events }: Played): void => {
  const names = Object.keys(changes)
  assert.deepStrictEqual(diff.toSorted(), names, "the diff has what is on disk")
  const ready = payloadsOf(events, "run.diff.ready")
  assert.deepStrictEqual(ready.map(({ files }) => files).at(-1) ?? 0, names.length)
  for (const { path } of payloadsOf(events, "run.file.changed")) assert.include(names, path)
}

/** The run says that its background work was cut. */
const assertCut = (played: Played): void => {
  assert.strictEqual(played.end.type, "run.failed", endingOf(played))
  assert.deepInclude(played.end.payload["error"], { code: "work_unfinished" })
}

await driveEach((agent: DrivenAgent) => {
  const { agentId, modes, place } = agent
  // Such a program's own sandbox writes nothing here.
  const writes = !ownSandbox.has(agentId)

  const finishes = (act: Act): boolean =>
    act === "goal" || act === "cron"
      ? withoutLaterEnds.has(agentId)
      : act === "background" && withoutEnds.has(agentId)

  const check = (act: Act, mode: RunMode, played: Played, files: object): void => {
    const { changes, events } = played
    const works = payloadsOf(events, "run.work.started").length
    const turns = payloadsOf(events, "run.turn.started").length
    const depths = depthsOf(played, files)
    const states = payloadsOf(events, "run.work.ended").map(({ state }) => String(state))
    agent.note(
      `${act} in ${mode}`,
      `${endingOf(played)}, ${works} works (${states.join(" ")}), ${turns} more turns, depths ${depths.join(" ")}, on disk ${Object.keys(changes).join(" ")}`
    )
    assert.strictEqual(played.end.type, "run.completed", endingOf(played))
    const refused = isDeepStrictEqual(changes, files) ? undefined : refusalIn(events)
    if (refused === undefined) assert.deepStrictEqual(changes, files, "completed without its work")
    else agent.note(`${act} in ${mode}`, `refused: ${refused}`)
    assertReported(played)
    // A nested approval names the call that it belongs to.
    for (const { callId, parentCallId } of played.requests)
      if (hasCall(events, callId))
        assert.strictEqual(parentCallId, ancestryOf(events, callId)[0], "the call of the sub-agent that asks")
  }

  describe.each(modes)("in %s", (mode) => {
    it.each(acts)(
      "completes only when what it has begun is done: %s",
      async (act, seconds) => {
        const { files, first, subject } = taskOf(act, seconds, mode)
        if (!writes) return agent.note(`${act} in ${mode}`, "its own sandbox does not write")
        if (act === "background" && leavesItsCommands.has(agentId))
          return assertCut(await agent.stage.playAll(promptFor(act, subject), () => "allow", mode))
        const played = finishes(act)
          ? await agent.stage.playAndFinish(promptFor(act, subject), first, mode)
          : await agent.play(act, subject, mode)
        if (played !== undefined) check(act, mode, played, files)
      },
      300_000
    )

    it("finishes a server in the background when a person does", async () => {
      if (!writes || holdsItsTurn.has(agentId) || !agent.offers("background")) return
      agent.stage.write(
        "server.mjs",
        `import { createServer } from "node:http"
import { writeFileSync } from "node:fs"
const write = () => writeFileSync("served-${mode}.txt", "")
// The sandbox of a program may refuse it.
createServer((_, response) => response.end()).once("error", write).listen(0, "127.0.0.1", write)
setInterval(() => {}, 1000)
`
      )
      const prompt = promptFor("background", "node server.mjs")
      if (leavesItsCommands.has(agentId))
        return assertCut(await agent.stage.playAll(prompt, () => "allow", mode))
      const played = await agent.stage.playAndFinish(prompt, `served-${mode}.txt`, mode)
      assert.strictEqual(played.end.type, "run.completed", endingOf(played))
      const stopped = played.end.payload["stopped"]
      assert.lengthOf(stopped as ReadonlyArray<string>, 1, "the server is named")
      assert.deepStrictEqual(Object.keys(played.changes), [`served-${mode}.txt`])
      assertReported(played)
      agent.note(`server in ${mode}`, `completed, stopped ${JSON.stringify(stopped)}`)
    })
  })

  it.runIf(writes && place.program.alone !== undefined).each(acts.filter(([act]) => !takesLong.has(act)))(
    "leaves what the program leaves alone: %s",
    async (act, seconds) => {
      if (!agent.offers(act)) return
      const { files, subject } = taskOf(act, seconds, "alone")
      const alone = await changesOnce(place, promptFor(act, subject))
      const missing = Object.keys(files).filter((name) => alone[name] !== README)
      agent.note(
        `${act} alone`,
        missing.length === 0 ? "the same" : `the program alone lacks ${missing.join(" ")}`
      )
      assert.deepStrictEqual({ ...files, ...alone }, files, "a run leaves less than the program alone")
    },
    120_000
  )
})
