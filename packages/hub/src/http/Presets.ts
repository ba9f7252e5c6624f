/** `/client/devices/{id}/presets`: profiles and runners of the caller's device, at its Edge. */
import type { PresetChange } from "@corral/domain/run/Preset"
import { Preset } from "@corral/domain/run/Preset"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { CurrentPrincipal } from "@corral/domain/hub-api/SessionAuthority"
import type { DeviceId } from "@corral/domain/identity/Ids"
import { idPosition, pageOf } from "@corral/service/http/Paged"
import { markReplayed } from "@corral/service/http/IdempotentRequest"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Audit } from "../audit/Audit.ts"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { isOutcomeUnknown } from "../edges/CommandRoute.ts"
import { EdgeRouter } from "../edges/EdgeRouter.ts"
import { HubIdempotency } from "../HubIdempotency.ts"
import { withErrorObjects } from "./ErrorObjects.ts"
import { pageAfter } from "./HubRequest.ts"
import { completingCommands } from "./KeyedWrite.ts"
import { recentSignIn } from "./RequestCredential.ts"

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
