import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ConfinementMeans, MeansTrial } from "../../src/confinement/Means.ts"
import { chooseMeans } from "../../src/confinement/MeansChoice.ts"

const means = (kind: ConfinementMeans["kind"], network: ConfinementMeans["network"]): ConfinementMeans => ({
  kind,
  network,
  isolate: (command) => command,
  confine: ({ command }) => Effect.succeed({ command, ports: undefined })
})

const works =
  (found: ConfinementMeans): MeansTrial =>
  () =>
    Effect.succeed(found)
const lacks =
  (name: string): MeansTrial =>
  () =>
    Effect.succeed({ problem: `${name} is missing.`, hint: `Install ${name}.` })

const bubblewrap = means("bubblewrap", "closed")
const landlock = means("landlock", "open")
const machine = { path: undefined, system: [] }

describe("chooseMeans", () => {
  it.effect("takes the first that works, and does not try the others", () =>
    Effect.gen(function* () {
      const never: MeansTrial = () => Effect.die("it was tried")
      const trials = { closed: [works(bubblewrap)], open: [never] }
      const found = yield* chooseMeans("preferred", machine, trials)
      assert.deepStrictEqual(found, { means: bubblewrap, missing: undefined })
    })
  )

  it.effect("falls back to a means with an open network, and says what a better one lacks", () =>
    Effect.gen(function* () {
      const trials = { closed: [lacks("a")], open: [works(landlock)] }
      const found = yield* chooseMeans("preferred", machine, trials)
      assert.strictEqual(found.means?.kind, "landlock")
      assert.deepStrictEqual(found.missing, { problem: "a is missing.", hint: "Install a." })
    })
  )

  it.effect("accepts only a closed network where the confinement is required", () =>
    Effect.gen(function* () {
      const never: MeansTrial = () => Effect.die("it was tried")
      const found = yield* chooseMeans("required", machine, { closed: [lacks("a")], open: [never] })
      assert.deepStrictEqual(found, {
        means: undefined,
        missing: { problem: "a is missing.", hint: "Install a." }
      })
    })
  )

  it.effect("says what all lack if none works", () =>
    Effect.gen(function* () {
      const trials = { closed: [lacks("a")], open: [lacks("b")] }
      const { missing } = yield* chooseMeans("preferred", machine, trials)
      assert.deepStrictEqual(missing, { problem: "a is missing.", hint: "Install a. Install b." })
    })
  )

  it.effect("says so on a system without any", () =>
    Effect.gen(function* () {
      const { missing } = yield* chooseMeans("preferred", machine, { closed: [], open: [] })
      assert.include(missing?.problem, "Linux and macOS only")
    })
  )
})
