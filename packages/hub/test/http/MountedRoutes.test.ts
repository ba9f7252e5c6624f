/** Authentication is declared by the contract and done by its middleware: no route depends on a guard before it. */
import { endpointAuthority } from "@corral/domain/access/HubAuthorization"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { assert, describe, it } from "@effect/vitest"
import { HttpApi } from "effect/http-api"

/** Open to anyone, or opened by what the request's body or a Gateway's own token proves. */
const isOpen = (authority: string): boolean => authority === "public.read" || authority === "device.join"

describe("The Hub's routes", () => {
  it("carry their authentication with them", () => {
    let checked = 0
    HttpApi.reflect(HubApi, {
      onGroup: () => undefined,
      onEndpoint: ({ endpoint, group, middleware }) => {
        const name = `${group.identifier}.${endpoint.identifier}`
        const authority = (endpointAuthority as Readonly<Record<string, string>>)[name]
        const keys = [...middleware].map(({ key }) => String(key))
        assert.isDefined(authority, name)
        if (authority === undefined || isOpen(authority)) return
        checked++
        assert.isTrue(
          keys.some((key) => /SessionAuthority|GatewayAuthority/.test(key)),
          `${name} asks for ${authority} and has ${keys.join(", ")}`
        )
      }
    })
    assert.isAbove(checked, 50)
  })
})
