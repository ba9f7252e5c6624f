/** `/client/devices/register`: by a join token, or by whoever is signed in. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import type { Device, RegisterDevice } from "@corral/domain/device/Device"
import { Unauthorized } from "@corral/domain/errors/Failures"
import { replayed } from "@corral/service/http/Replayed"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { DeviceRegistration } from "../device/DeviceRegistration.ts"
import { HubIdempotency } from "../HubIdempotency.ts"
import { SignIns } from "../signin/SignIns.ts"
import { answered } from "./Answered.ts"
import { bearerToken, cookieToken } from "./Guard.ts"

export const deviceRegistration = HttpApiBuilder.group(
  HubApi,
  "deviceRegistration",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit
    const idempotency = yield* HubIdempotency
    const registration = yield* DeviceRegistration
    const signIns = yield* SignIns

    /** Whose device it will be. A join token goes first: it says more exactly what is meant. */
    const ownerOf = Effect.fnUntraced(function* ({ joinToken }: RegisterDevice) {
      if (joinToken !== undefined) {
        const maker = yield* registration.findJoinTokenOwner(joinToken)
        return maker ?? (yield* new Unauthorized({ message: "This join token is unknown." }))
      }
      const { headers } = yield* HttpServerRequest.HttpServerRequest
      const token = bearerToken(headers) ?? cookieToken(headers)
      const signIn = token === undefined ? undefined : yield* signIns.find(token)
      return signIn === undefined ? yield* new Unauthorized() : signIn.userId
    })

    return handlers.handleAll({
      register: Effect.fnUntraced(function* ({ headers, payload }) {
        const owner = yield* ownerOf(payload)
        const request = {
          scope: `${owner} POST /client/devices/register`,
          key: headers["idempotency-key"],
          request: payload
        }
        const deed = { action: "device.register", resource: owner, projectId: null } as const
        const { body, replayed: again } = yield* idempotency.runOnce(
          request,
          audit.performAs(owner, deed, registration.register(owner, payload), ({ id }: Device) => ({
            resource: id
          }))
        )
        return yield* replayed(body, again)
      }, answered)
    })
  })
)
