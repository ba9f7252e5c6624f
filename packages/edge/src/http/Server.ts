/**
 * HTTP server of the Edge, on loopback. Requests and upgrades pass the guard and the rate limit, then reach the routes, the event stream or the agent host.
 *
 * Guarantees: a defect is answered as `internal` without its cause, a damaged store as `overloaded`.
 */
import { EdgeConfig } from "../config/EdgeConfig.ts"
import { HubLink } from "../link/HubLink.ts"
import { LocalToken } from "../LocalToken.ts"
import { RunSupervisor } from "../run/RunSupervisor.ts"
import { Store } from "../store/Store.ts"
import { damageOptions, StoreDamaged } from "../store/StoreDamage.ts"
import { EdgeAgentHost } from "./AgentHost.ts"
import { agents, presets } from "./Agents.ts"
import { changes } from "./Changes.ts"
import { artifacts } from "./Artifacts.ts"
import {
  authority,
  carriesEdgeToken,
  edgeRequestPolicy,
  isAgentHost,
  RateLimit
} from "./EdgeRequestPolicy.ts"
import { EventStreams } from "./EventStreams.ts"
import { edgeHealth } from "./Health.ts"
import { edgeInputs, grants, permissions } from "./Decisions.ts"
import { previews } from "./Previews.ts"
import { edgeRuns } from "./Runs.ts"
import { diffs, layers, worktrees } from "./Worktrees.ts"
import { edgeFiles, workspaces } from "./Workspaces.ts"
import { EdgeApi } from "@corral/domain/edge-api/EdgeApi"
import { SchemaErrors, withErrorObject } from "@corral/domain/http/RequestContext"
import { ServiceAddress } from "@corral/service/http/Answering"
import type { ConnectionHandlers } from "@corral/service/http/Connections"
import { crossOrigin } from "@corral/service/http/CrossOrigin"
import { mountedLayer } from "@corral/service/http/Mounted"
import { type HttpRefusal, refuseUpgrade } from "@corral/service/http/Refusal"
import { guardedRoutes, loopbackHosts, RequestGuard } from "@corral/service/http/RequestGuard"
import { requestIds } from "@corral/service/http/RequestIdLayer"
import { DOCUMENT_PATHS, serviceDocuments } from "@corral/service/http/ServiceDocuments"
import { serviceServerLayer } from "@corral/service/http/ServiceServer"
import { endpointPaths } from "@corral/service/http/Unanswered"
import type { Upgrade } from "@corral/service/stream/Sockets"
import { Cause, Clock, Context, Effect, FiberSet, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"

/** `POST /v1/link/rotate`: a new key for this device, asked for by its owner. */
const edgeLink = HttpApiBuilder.group(
  EdgeApi,
  "link",
  Effect.fnUntraced(function* (handlers) {
    const { rotate } = yield* HubLink
    return handlers.handleAll({ rotate: () => withErrorObject(rotate) })
  })
)

// All HTTP routes of the Edge, with their guard and their authentication.

const edgeApiRoutes = HttpApiBuilder.layer(EdgeApi).pipe(
  Layer.provide([
    edgeHealth,
    agents,
    presets,
    workspaces,
    edgeFiles,
    edgeRuns,
    diffs,
    changes,
    worktrees,
    layers,
    artifacts,
    previews,
    permissions,
    edgeInputs,
    grants,
    edgeLink
  ]),
  Layer.provide([SchemaErrors.layer, requestIds, authority]),
  Layer.merge(serviceDocuments("edge", import.meta.url)),
  Layer.provide(guardedRoutes),
  Layer.provide(HttpServer.layerServices)
)

/** Address of the Edge. */
export class EdgeServer extends Context.Service<
  EdgeServer,
  { readonly url: string; readonly port: number }
>()("corral/edge/EdgeServer") {
  /** @internal */
  static readonly layer = Layer.effect(EdgeServer, ServiceAddress).pipe(
    Layer.merge(HttpRouter.serve(edgeApiRoutes, { disableListenLog: true, disableLogger: true })),
    Layer.provide(
      Layer.unwrap(
        Effect.map(EdgeConfig, (config) => serviceServerLayer({ address: config, ...answeringOf(config) }))
      )
    )
  )
}

export interface EdgeMount {
  /** Path below which the program's server has the Edge: `/`, or a path such as `/corral/edge`. */
  readonly path: string
  /** Origins at which the program's server is reached, besides the names of this machine. */
  readonly origins?: ReadonlyArray<string>
}

/**
 * The Edge's routes and event stream below a path of a program's server.
 *
 * @internal
 */
export const mountedEdge = ({ origins = [], path }: EdgeMount) =>
  Layer.unwrap(
    Effect.map(EdgeConfig, (config) =>
      mountedLayer({ path, routes: edgeApiRoutes, ...answeringOf(config, origins) })
    )
  )

const answeringOf = (config: EdgeConfig, origins: ReadonlyArray<string> = []) => ({
  api: EdgeApi,
  policy: policyOf(config, origins),
  connections: connectionsOf(config)
})

const policyOf = Effect.fnUntraced(function* (
  { allowedOrigins }: EdgeConfig,
  origins: ReadonlyArray<string>
) {
  const { port } = yield* ServiceAddress
  const { matches, matchesEditor } = yield* LocalToken
  const hosts = [...loopbackHosts(port), ...origins.map((origin) => new URL(origin).host)]
  return edgeRequestPolicy({ hosts, allowedOrigins, matchesToken: matches, matchesEditor })
})

const connectionsOf = Effect.fnUntraced(function* ({ allowedOrigins, requestsPerSecond }: EdgeConfig) {
  const clock = yield* Clock.Clock
  const guard = yield* RequestGuard
  const runs = yield* RunSupervisor
  const store = yield* Store
  const streams = yield* EventStreams
  const agentHost = yield* EdgeAgentHost
  const run = yield* FiberSet.makeRuntime()
  const rate = new RateLimit(requestsPerSecond, () => clock.currentTimeMillisUnsafe())

  /** A read of damaged data, by any request. */
  const refusalOfDefect = (defect: unknown): HttpRefusal | undefined => {
    if (!(defect instanceof StoreDamaged)) return undefined
    store.reportDamage(defect)
    return { code: "overloaded", ...damageOptions(defect) }
  }

  /** What accepts an upgrade of this target. */
  const admitted = (target: string): Effect.Effect<(upgrade: Upgrade) => void, HttpRefusal> =>
    isAgentHost({ isUpgrade: true, target })
      ? Effect.map(agentHost.admit(target), (backend) => (upgrade) => agentHost.accept(upgrade, backend))
      : Effect.map(
          streams.admit(target),
          (subscription) => (upgrade) => streams.accept(upgrade, subscription)
        )

  const handlers: ConnectionHandlers = {
    paths: [...endpointPaths(EdgeApi), ...DOCUMENT_PATHS],
    crossOrigin: crossOrigin(EdgeApi, new Set(allowedOrigins)),
    refusalOf: (request, isUpgrade) => {
      const refusal = guard.refusalOfMessage(request, isUpgrade)
      const { headers, url: target = "" } = request
      // Refused requests count as well, and not for the token's holder.
      const holdsToken = refusal === undefined && carriesEdgeToken({ headers, isUpgrade, target })
      return rate.take(holdsToken) ? refusal : { code: "rate_limited" }
    },
    onUpgrade: (request, socket, head, id) =>
      void run(
        admitted(request.url ?? "").pipe(
          Effect.match({
            onFailure: (refusal) => refuseUpgrade(socket, refusal, id),
            onSuccess: (accept) => accept({ request, stream: socket, head })
          }),
          Effect.catchCause((cause) => {
            const refusal = refusalOfDefect(Cause.squash(cause))
            return Effect.andThen(
              refusal === undefined ? Effect.logError("an upgrade failed", cause) : Effect.void,
              Effect.sync(() => refuseUpgrade(socket, refusal ?? { code: "internal" }, id))
            )
          })
        )
      ),
    // Readers still see how their runs end.
    closeUpgraded: Effect.andThen(
      runs.drain,
      Effect.all([streams.closeAll, agentHost.closeAll], { concurrency: 2, discard: true })
    ),
    refusalOfDefect
  }
  return handlers
})
