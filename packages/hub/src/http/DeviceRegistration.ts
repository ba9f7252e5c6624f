/** `/client/devices/register`: registration with a join token or a sign-in. */
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { Device, type RegisterDevice } from "@corral/domain/device/Device"
import { Unauthorized } from "@corral/domain/errors/Failures"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { DeviceRegistration } from "../device/DeviceRegistration.ts"
import { SignInStore } from "../signin/SignInStore.ts"
import { withErrorObjects } from "./ErrorObjects.ts"
import { keyedWrite } from "./KeyedWrite.ts"
import { credentialOf } from "./RequestCredential.ts"

export const deviceRegistrationEndpoints = HttpApiBuilder.group(
  HubApi,
  "deviceRegistration",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit
    const writeOnce = yield* keyedWrite
    const registration = yield* DeviceRegistration
    const signIns = yield* SignInStore

    /** Owner of the new device. A join token wins over a sign-in, because it is more specific. */
    const ownerOf = Effect.fnUntraced(function* ({ joinToken }: RegisterDevice) {
      if (joinToken !== undefined) {
        const maker = yield* registration.findJoinTokenOwner(joinToken)
        return maker ?? (yield* new Unauthorized({ message: "This join token is unknown." }))
      }
      const { headers } = yield* HttpServerRequest.HttpServerRequest
      const { bearer, cookie } = credentialOf(headers)
      const token = bearer ?? cookie
      const signIn = token === undefined ? undefined : yield* signIns.find(token)
      return signIn === undefined ? yield* new Unauthorized() : signIn.userId
    })

    return handlers.handleAll({
      register: Effect.fnUntraced(function* ({ headers, payload }) {
        const owner = yield* ownerOf(payload)
        const request = {
          scope: `${owner} POST /client/devices/register`,
          headers,
          payload,
          response: Device
        }
        const auditedAction = { action: "device.register", resource: owner, projectId: null } as const
        return yield* writeOnce(
          request,
          audit.performAs(owner, auditedAction, registration.register(owner, payload), ({ id }: Device) => ({
            resource: id
          }))
        )
      }, withErrorObjects)
    })
  })
)
