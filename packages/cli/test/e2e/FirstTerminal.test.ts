/** What a new user's terminals show from `corral up` to the first approved run: sentences, no logs, no JSON and no warnings. */
import { hasTerminals } from "@corral/testing/process/TerminalProgram"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Corral } from "./Corral.ts"

/** Lines that are for programs or for operators. */
const NOISE = [
  /^\s*[{[]"/,
  /\blevel=|\btimestamp=|^\[?\d{4}-\d\d-\d\dT\S+\]? /,
  /^\s*(?:DEBUG|INFO|WARN|ERROR)\b/,
  /\bwarning\b|\bwarn\b/i,
  /^\s+at .+:\d+:\d+\)?$/
]

const noiseIn = (screen: string): ReadonlyArray<string> =>
  screen.split("\n").filter((line) => NOISE.some((pattern) => pattern.test(line)))

describe.skipIf(!hasTerminals)("the first terminals", { timeout: 90_000 }, () => {
  const corral = new Corral()
  afterAll(() => corral.close())

  it("show nothing that a new user does not need, from the start to the first approved run", async () => {
    const up = corral.inTerminal(120, "up", "--port", "0")
    await up.shows(/^Open http:\/\/127\.0\.0\.1:\d+ and sign in as /m)
    const run = corral.inTerminal(
      120,
      "run",
      "--agent",
      "scripted",
      "--workspace",
      "sample",
      "Read the notes"
    )
    await run.shows(/Allow\? /)
    run.enter("y")
    assert.strictEqual(await run.ended, 0, run.screen)
    const list = corral.inTerminal(120, "runs")
    assert.strictEqual(await list.ended, 0, list.screen)
    for (const { screen } of [up, run, list]) assert.deepStrictEqual(noiseIn(screen), [], screen)
    up.type("\u0003")
    await up.ended
    assert.deepStrictEqual(noiseIn(up.screen), [], up.screen)
  })

  it("would show a log line, JSON or a warning", () => {
    const noise = [
      '{"ready":true}',
      "timestamp=2026-01-01T00:00:00.000Z level=INFO message=ready",
      "warning: anyone can sign in",
      "npm warn EBADENGINE Unsupported engine {"
    ]
    assert.deepStrictEqual(noiseIn(["Corral is running.", ...noise].join("\n")), noise)
  })
})
