import { assert, describe, it } from "@effect/vitest"
import { namedProxyProblem } from "../../src/confinement/MeansChoice.ts"

describe("namedProxyProblem", () => {
  it.each(["HTTPS_PROXY", "http_proxy", "ALL_PROXY"])("names %s, and both remedies", (name) => {
    const found = namedProxyProblem({ PATH: "/bin", [name]: "http://proxy.example:3128" })
    assert.strictEqual(found?.problem, `${name} names a proxy, which confined runs cannot use.`)
    assert.include(found?.hint, `without ${name}, or set CORRAL_EDGE_CONFINEMENT=required`)
    assert.notInclude(JSON.stringify(found), "proxy.example")
  })

  it("finds nothing in an environment without a proxy, or with an empty one", () => {
    assert.isUndefined(namedProxyProblem({ PATH: "/bin", NO_PROXY: "localhost", HTTP_PROXY: "" }))
  })
})
