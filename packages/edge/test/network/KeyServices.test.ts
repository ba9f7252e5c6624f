import type { RuntimeKey } from "@corral/domain/run/RuntimeNetwork"
import { assert, describe, it } from "@effect/vitest"
import { keysOfRun, type KeySources, PlaceholderKeys } from "../../src/network/KeyServices.ts"

const KEY = "sk-ant-real-0123456789"
const declared: ReadonlyArray<RuntimeKey> = [
  {
    variable: "MODEL_KEY",
    headers: ["x-api-key"],
    hosts: ["model.test"],
    addressVariable: "MODEL_URL"
  }
]
const sources: KeySources = { declared, entry: { adapter: "a" }, environment: {}, env: { MODEL_KEY: KEY } }

const services = (more: Partial<KeySources>) => {
  const found = keysOfRun({ ...sources, ...more })
  return "problem" in found
    ? found.problem
    : found.map(({ key, services: each, variable }) => [
        variable,
        key,
        each.map(({ isSecure, target: { host, port } }) => `${isSecure ? "https" : "http"} ${host} ${port}`)
      ])
}

describe("keysOfRun", () => {
  it("uses the hosts that the adapter declares", () => {
    assert.deepStrictEqual(services({}), [["MODEL_KEY", KEY, ["https model.test 443"]]])
  })

  it("uses an address of the Edge's environment that the run has, and none that a request sets", () => {
    const local = "http://127.0.0.1:8080/v1"
    const env = { MODEL_KEY: KEY, MODEL_URL: local }
    const found = services({ env, environment: { MODEL_URL: local } })
    assert.deepStrictEqual(found, [["MODEL_KEY", KEY, ["http 127.0.0.1 8080"]]])
    const fromRequest = { env: { ...env, MODEL_URL: "https://attacker.test" } }
    const expected = [["MODEL_KEY", KEY, ["https model.test 443"]]]
    assert.deepStrictEqual(services({ ...fromRequest, environment: { MODEL_URL: local } }), expected)
    assert.deepStrictEqual(services(fromRequest), expected)
    assert.deepStrictEqual(services({ environment: { MODEL_URL: local } }), expected)
  })

  it("uses the addresses of the setting before others, also for a variable that the adapter does not declare", () => {
    const addresses = {
      MODEL_KEY: ["https://a.test:8443/x", "http://b.test"],
      MORE_KEY: ["https://c.test"]
    } as const
    const found = services({ entry: { adapter: "a", addresses }, env: { MODEL_KEY: KEY, MORE_KEY: KEY } })
    assert.deepStrictEqual(found, [
      ["MODEL_KEY", KEY, ["https a.test 8443", "http b.test 80"]],
      ["MORE_KEY", KEY, ["https c.test 443"]]
    ])
  })

  it("finds no key where the run has none", () => {
    assert.deepStrictEqual(services({ env: {} }), [])
    assert.deepStrictEqual(services({ env: { MODEL_KEY: " " } }), [])
  })

  it.each(["short", "a key with spaces", "a-key\r\nx: 1", "schlüssel-0123"])("refuses the key %j", (key) => {
    assert.include(String(services({ env: { MODEL_KEY: key } })), "MODEL_KEY does not look like a key")
  })

  it("refuses an address that is not one of http", () => {
    const env = { MODEL_KEY: KEY, MODEL_URL: "unix:/socket" }
    assert.include(String(services({ env, environment: env })), "not one of http or https")
  })
})

describe("PlaceholderKeys", () => {
  it("replaces keys in all variables, the longer one of two first", () => {
    const longer = `${KEY}-longer`
    const two = [...declared, { variable: "SECOND_KEY", headers: ["authorization"], hosts: [] } as const]
    const env = { MODEL_KEY: KEY, SECOND_KEY: longer, HEADERS: `a: ${longer}, b: ${KEY}`, OTHER: "kept" }
    const found = keysOfRun({ ...sources, declared: two, env })
    if ("problem" in found) assert.fail(found.problem)
    const placed = new PlaceholderKeys(found).environmentOf(env)
    assert.notInclude(JSON.stringify(placed), KEY)
    assert.strictEqual(placed["OTHER"], "kept")
    assert.strictEqual(placed["HEADERS"], `a: ${placed["SECOND_KEY"]}, b: ${placed["MODEL_KEY"]}`)
    assert.notStrictEqual(placed["SECOND_KEY"], placed["MODEL_KEY"])
  })

  it("makes other placeholders for each run", () => {
    const found = keysOfRun(sources)
    if ("problem" in found) assert.fail(found.problem)
    const [one, two] = [1, 2].map(() => new PlaceholderKeys(found).environmentOf(sources.env)["MODEL_KEY"])
    assert.match(one ?? "", /^sk-[0-9a-f]{48}$/)
    assert.notStrictEqual(one, two)
  })
})
