import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as fc from "fast-check"
import { settings as edge } from "@corral/edge/EdgeSettings"
import { settings as gateway } from "@corral/gateway/GatewaySettings"
import { settings as hub } from "@corral/hub/HubSettings"
import { checkVariables, nearest, type ServiceName } from "@corral/service/UnknownVariables"

const tables = { edge, gateway, hub }
const services = Object.keys(tables) as ReadonlyArray<ServiceName>
const all = [
  ...new Set(Object.values(tables).flatMap((table) => table.map(({ name }) => name)))
] as ReadonlyArray<string>

const check = (service: ServiceName, env: Record<string, string>) =>
  Effect.runSyncExit(Effect.flip(checkVariables(service, env, tables[service])))

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
  it("lets every service start with the variables of all of them, and with those of tests and runs", () => {
    const env = Object.fromEntries(
      [...all, "CORRAL_RUN_ID", "CORRAL_TEST_ENTRY", "PATH", "MY_CORRAL_X"].map((name) => [name, "x"])
    )
    for (const service of services) assert.isTrue(Exit.isFailure(check(service, env)), service)
    assert.isTrue(Exit.isFailure(check("hub", { CORRAL_HUB_PROT: "" })), "set to nothing is not set")
  })

  it("stops a service of whose settings one is misspelled, and names the one that was meant", () => {
    fc.assert(
      fc.property(slip, ([meant, misspelled]) => {
        const refused = services.flatMap((service) => {
          const exit = check(service, { [misspelled]: "s3cret-value" })
          return Exit.isSuccess(exit) ? [{ service, message: exit.value.message }] : []
        })
        const owners = services.filter((service) => tables[service].some(({ name }) => name === meant))
        assert.isTrue(
          owners.some((owner) => refused.some(({ service }) => service === owner)),
          `${misspelled} is accepted by ${owners.join(", ")}`
        )
        for (const { message } of refused) {
          assert.match(message, /^CORRAL_\w+ is not a setting of Corral\. Did you mean CORRAL_\w+\?$/)
          assert.notInclude(message, "s3cret")
        }
        const own = refused.find(({ service }) => owners.includes(service))
        assert.include(own?.message ?? "", nearest(misspelled, all) ?? "")
      })
    )
  })
})
