/**
 * `/client/devices` and `/client/targets`: devices of the user, devices shared with the user, targets for tasks, registration with a join token or a
 * sign-in, and the profiles and runners of the caller's device, at its Edge.
 */
import { Device, type RegisterDevice } from "@corral/domain/device/Device"
import { Unauthorized } from "@corral/domain/errors/Failures"
import { CurrentRequestId } from "@corral/domain/http/RequestContext"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { DeviceId, ProjectId } from "@corral/domain/identity/Ids"
import { Preset, type PresetChange } from "@corral/domain/run/Preset"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { DeviceRegistration, Devices, type ShareChange } from "../device/Devices.ts"
import { Inventory } from "../device/Inventory.ts"
import { isOutcomeUnknown } from "../edges/CommandRoute.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { HubIdempotency } from "../HubIdempotency.ts"
import { SignInStore } from "../signin/SignInStore.ts"
import { credentialOf, recentSignIn } from "./Callers.ts"
import { completingCommands, keyedWrite, pageAfter, withErrorObjects } from "./Handlers.ts"

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

/** `/client/devices/{id}/presets`: profiles and runners of the caller's device, at its Edge. */
export const presetEndpoints = HttpApiBuilder.group(
  HubApi,
  "presets",
  Effect.fnUntraced(function* (handlers) {
    const audit = yield* Audit
    const authority = yield* HubAuthority
    const complete = yield* completingCommands
    const idempotency = yield* HubIdempotency
    const recent = yield* recentSignIn
    const router = yield* EdgeRouter

    /** Sends a change for the device's owner after a recent sign-in. Each outcome is recorded. */
    const change = Effect.fnUntraced(function* (id: DeviceId, request: PresetChange, key?: string) {
      yield* authority.overDevice(id, "device.presets")
      const { userId: by } = yield* CurrentPrincipal
      const sent = Effect.andThen(recent.required, router.changePreset(id, { change: request, by }, key))
      const auditedAction = { action: "device.presets", resource: id, projectId: null } as const
      return yield* complete(
        Effect.flatMap(Effect.exit(sent), (outcome) => audit.perform(auditedAction, outcome))
      )
    })
    /** The answer to a change other than a removal has the preset. */
    const changed = (id: DeviceId, request: PresetChange, key?: string) =>
      Effect.flatMap(change(id, request, key), ({ preset }) =>
        preset === undefined
          ? Effect.die(new Error("An Edge answered without the preset."))
          : Effect.succeed(preset)
      )

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ params: { id }, query: { cursor, limit } }) {
        yield* authority.overDevice(id, "device.presets")
        const { userId } = yield* CurrentPrincipal
        return yield* pageOf(
          { filter: `presets ${id}`, principal: userId, cursor, limit },
          idPosition,
          (after, limit) =>
            Effect.map(router.listPresets(id), (presets) => pageAfter(presets, idPosition, after, limit))
        )
      }, withErrorObjects),

      create: Effect.fnUntraced(function* ({ headers, params: { id }, payload }) {
        const { userId } = yield* CurrentPrincipal
        const scope = `${userId} POST /client/devices/${id}/presets`
        const key = headers["idempotency-key"]
        const { body, replayed } = yield* idempotency.runOnceRemotely(
          { scope, key, request: payload, response: Preset },
          changed(id, { _tag: "Create", ...payload }, key && JSON.stringify([scope, key, payload])).pipe(
            // A new preset is not looked up.
            Effect.catchTag("NotFound", Effect.die)
          ),
          isOutcomeUnknown
        )
        return yield* markReplayed(body, replayed)
      }, withErrorObjects),

      update: Effect.fnUntraced(function* ({ params: { id, presetId }, payload: { settings } }) {
        return yield* changed(id, { _tag: "Update", id: presetId, settings })
      }, withErrorObjects),

      remove: Effect.fnUntraced(function* ({ params: { id, presetId } }) {
        yield* change(id, { _tag: "Remove", id: presetId })
      }, withErrorObjects)
    })
  })
)
