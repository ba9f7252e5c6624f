import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as fc from "fast-check"
import { settingNames as all } from "@corral/service/settings/settingNames"
import { checkVariables, nearestName } from "@corral/service/settings/ReadSettings"

const check = (env: Record<string, string>) => Effect.runSyncExit(Effect.flip(checkVariables(env)))

/** One slip: a letter too many, too few, another one, or two that changed places. */
const slip = fc
  .tuple(fc.constantFrom(...all), fc.nat(), fc.constantFrom("drop", "double", "swap", "other"))
  .map(([name, at, kind]): readonly [string, string] => {
    const i = "CORRAL_".length + (at % (name.length - "CORRAL_".length))
    const rest = name.slice(i + 1)
    const [letter = "", after = ""] = name.slice(i)
    const changed = {
      drop: rest,
      double: letter + letter + rest,
      swap: after + letter + rest.slice(1),
      other: (letter === "Q" ? "X" : "Q") + rest
    }[kind]
    return [name, name.slice(0, i) + (changed ?? rest)]
  })
  .filter(([, misspelled]) => !all.includes(misspelled))

describe("checkVariables", () => {
  it("accepts the variables of all services, and those of tests and runs", () => {
    const env = Object.fromEntries(
      [...all, "CORRAL_RUN_ID", "CORRAL_TEST_ENTRY", "PATH", "MY_CORRAL_X"].map((name) => [name, "x"])
    )
    assert.isTrue(Exit.isFailure(check(env)))
    assert.isTrue(Exit.isFailure(check({ CORRAL_HUB_PROT: "" })), "set to nothing is not set")
  })

  it("refuses a misspelled setting, and names the one that was meant", () => {
    fc.assert(
      fc.property(slip, ([, misspelled]) => {
        const exit = check({ [misspelled]: "s3cret-value" })
        if (!Exit.isSuccess(exit)) return assert.fail(`${misspelled} is accepted`)
        const { message } = exit.value
        assert.match(message, /^CORRAL_\w+ is not a setting of Corral\. Did you mean CORRAL_\w+\?$/)
        assert.notInclude(message, "s3cret")
        assert.include(message, nearestName(misspelled, all) ?? "")
      }),
      { numRuns: 500 }
    )
  })
})
