/**
 * `/client/devices` and `/client/targets`: devices of the user, devices shared with the user, targets for tasks, and registration with
 * a join token or a sign-in.
 */
import { Device, type RegisterDevice } from "@corral/domain/device/Device"
import { Unauthorized } from "@corral/domain/errors/Failures"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { DeviceId, ProjectId } from "@corral/domain/identity/Ids"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { DeviceRegistration } from "../device/DeviceRegistration.ts"
import { Devices, type ShareChange } from "../device/Devices.ts"
import { Inventory } from "../device/Inventory.ts"
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

export const deviceEndpoints = HttpApiBuilder.group(
  HubApi,
  "devices",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit
    const authority = yield* HubAuthority
    const inventory = yield* Inventory
    const registration = yield* DeviceRegistration
    const service = yield* Devices

    /** Added and ended shares. Each added project requires its own proof. */
    const sharingOf = Effect.fnUntraced(function* (
      id: DeviceId,
      current: ReadonlyArray<ProjectId>,
      requested: ReadonlyArray<ProjectId> = current
    ) {
      const added = [...new Set(requested)].filter((project) => !current.includes(project))
      const proofs = yield* Effect.forEach(added, (project) =>
        authority.inProject("device.manage", project, id)
      )
      return { added: proofs, ended: current.filter((project) => !requested.includes(project)) }
    })

    /** Records the change in the trail of each project, in a fixed order, so that concurrent changes cannot deadlock. */
    const recordInProjects = Effect.fnUntraced(function* (resource: DeviceId, { added, ended }: ShareChange) {
      const { userId: actor } = yield* CurrentPrincipal
      const requestId = yield* CurrentRequestId
      const entry = { action: "device.manage", resource, actor, requestId } as const
      // The subject of a proof for a project is its id.
      const projects = [...added.map(({ subject }) => subject as ProjectId), ...ended].sort()
      for (const projectId of projects)
        yield* audit.record({ ...entry, projectId, outcome: "allowed", code: null })
    })

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query: { cursor, limit, state } }) {
        const { userId } = yield* CurrentPrincipal
        const list = { filter: `devices ${state ?? ""}`, principal: userId, cursor, limit }
        return yield* pageOf(list, idPosition, (before, limit) => service.list(userId, state, before, limit))
      }, withErrorObjects),

      createJoinToken: Effect.fnUntraced(function* ({ payload: { expiresInSeconds } }) {
        const { userId } = yield* CurrentPrincipal
        const auditedAction = { action: "device.join", resource: userId, projectId: null } as const
        return yield* audit.perform(auditedAction, registration.createJoinToken(userId, expiresInSeconds))
      }, withErrorObjects),

      get: Effect.fnUntraced(function* ({ params: { id } }) {
        const { userId } = yield* CurrentPrincipal
        return yield* service.get(userId, id)
      }, withErrorObjects),

      update: Effect.fnUntraced(function* ({ params: { id }, payload: { sharedWith, ...change } }) {
        const proof = yield* authority.overDevice(id)
        const { userId } = yield* CurrentPrincipal
        const current = yield* service.get(userId, id)
        const sharing = yield* sharingOf(id, current.sharedWith, sharedWith)
        const action = change.state === "revoked" ? "device.revoke" : "device.manage"
        return yield* audit.perform(
          { action, resource: id, projectId: null },
          Effect.tap(service.update(proof, change, sharing), () => recordInProjects(id, sharing))
        )
      }, withErrorObjects),

      remove: Effect.fnUntraced(function* ({ params: { id } }) {
        const proof = yield* authority.overDevice(id)
        yield* audit.perform(
          { action: "device.revoke", resource: id, projectId: null },
          service.remove(proof)
        )
      }, withErrorObjects),

      targets: Effect.fnUntraced(function* ({ query: { cursor, limit, projectId } }) {
        const { userId } = yield* CurrentPrincipal
        if (projectId !== undefined) yield* authority.inProject("project.read", projectId)
        const list = { filter: `targets ${projectId ?? ""}`, principal: userId, cursor, limit }
        return yield* pageOf(list, idPosition, (before, limit) =>
          inventory.targets(userId, projectId, before, limit)
        )
      }, withErrorObjects)
    })
  })
)
