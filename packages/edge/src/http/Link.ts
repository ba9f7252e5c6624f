/** `POST /v1/link/rotate`: a new key for this device, asked for by its owner. */
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { withErrorObject } from "@corral/domain/http/RequestContext"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { HubLink } from "../link/HubLink.ts"

export const edgeLink = HttpApiBuilder.group(
  EdgeApi,
  "link",
  Effect.fnUntraced(function* (handlers) {
    const { rotate } = yield* HubLink
    return handlers.handleAll({ rotate: () => withErrorObject(rotate) })
  })
)
