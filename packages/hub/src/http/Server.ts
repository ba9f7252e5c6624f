/**
 * HTTP server of the Hub. Each request and upgrade passes the rate limit and the guard, then reaches the routes, the links or the streams.
 *
 * Guarantees: a defect is answered as `internal` without its cause, an unavailable database as `overloaded`.
 */
import { errorTable } from "@corral/domain/errors/ErrorTable"
import { SchemaErrors } from "@corral/domain/http/RequestContext"
import { HubApi } from "@corral/domain/hub-api/HubApi"
import { LINK_PATH } from "@corral/domain/link/EdgeLink"
import { ServiceAddress } from "@corral/service/http/Answering"
import { compressedJson } from "@corral/service/http/CompressedJson"
import type { ConnectionHandlers, UpgradeHandler } from "@corral/service/http/Connections"
import {
  DISCOVERY_PATHS,
  discoveryFiles,
  DOCUMENT_PATHS,
  serviceDocuments
} from "@corral/service/http/ServiceDocuments"
import { endpointPaths } from "@corral/service/http/Unanswered"
import { mountedLayer } from "@corral/service/http/Mounted"
import { type HttpRefusal, refuseUpgrade } from "@corral/service/http/Refusal"
import {
  RequestGuard,
  guardedRoutes,
  loopbackHosts,
  namesOfOrigins,
  pathOfTarget
} from "@corral/service/http/RequestGuard"
import type { RequestId } from "@corral/domain/identity/Ids"
import type { Upgrade } from "@corral/service/stream/Sockets"
import { requestIds } from "@corral/service/http/RequestIdLayer"
import { RequestRateLimit } from "@corral/service/http/RequestRateLimit"
import { serviceServerLayer } from "@corral/service/http/ServiceServer"
import { Clock, Context, Effect, FiberSet, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import type { SqlError } from "effect/sql"
import { HttpApiBuilder } from "effect/http-api"
import { HubConfig } from "../config/HubConfig.ts"
import type { Credential } from "../signin/HubCredentials.ts"
import { LinkServer } from "../link/LinkServer.ts"
import { EventSockets } from "../live/EventSockets.ts"
import { HUB_STREAM_PATH, StreamAuthority } from "../live/StreamAuthority.ts"
import { AGENT_HOST_PATH, HubAgentHost } from "./AgentHost.ts"
import { apiKeyEndpoints, authEndpoints } from "./Auth.ts"
import { approvalEndpoints } from "./Approvals.ts"
import { auditEndpoints } from "./AuditTrail.ts"
import {
  authentication,
  Callers,
  credentialOf,
  gatewayAuthentication,
  type LogRefusal,
  refusalLog
} from "./Callers.ts"
import { changeFeedEndpoints } from "./ChangeFeed.ts"
import { changesEndpoints } from "./Changes.ts"
import { chatBindingEndpoints, integrationEndpoints } from "./Chat.ts"
import { consolePages } from "./Console.ts"
import { conversationEndpoints, sessionEndpoints } from "./Sessions.ts"
import { cookieScopeOf } from "./SessionCookies.ts"
import { devicePage } from "./DevicePage.ts"
import { deviceEndpoints, deviceRegistrationEndpoints, presetEndpoints } from "./Devices.ts"
import { fileEndpoints } from "./Files.ts"
import { hubDeadlines, hubRequestPolicy } from "./HubRequestPolicy.ts"
import { inputEndpoints } from "./Inputs.ts"
import { LINK_PAGE, linkPage } from "./LinkPage.ts"
import { preferenceEndpoints } from "./Preferences.ts"
import { projectEndpoints } from "./Projects.ts"
import { publicEndpoints } from "./Public.ts"
import { PublicUrl, storeRefusal } from "./Handlers.ts"
import { runEndpoints } from "./Runs.ts"
import { searchEndpoints } from "./Search.ts"
import { usageEndpoints } from "./Usage.ts"
import { signInEndpoints } from "./SignIn.ts"
import { taskGroupEndpoints } from "./TaskGroups.ts"
import { taskEndpoints } from "./Tasks.ts"
import { uploadEndpoints } from "./Uploads.ts"

/** Addresses of the Hub: the one for people, and the one on this machine. */
export class HubServer extends Context.Service<
  HubServer,
  { readonly publicUrl: string; readonly url: string; readonly port: number }
>()("corral/hub/HubServer") {
  /** @internal */
  static readonly layer = Layer.unwrap(Effect.map(HubConfig, (config) => serve(config)))
}

const serve = (config: HubConfig) =>
  Layer.effect(HubServer, addresses).pipe(
    Layer.merge(HttpRouter.serve(hubApiRoutes, { disableListenLog: true, disableLogger: true })),
    Layer.provide(publicUrlLayer(config)),
    Layer.provide(serviceServerLayer({ address: config, ...answeringOf(config) }))
  )

export interface HubMount {
  /** Path below which the program's server has the Hub: `/`, or a path such as `/corral/hub`. */
  readonly path: string
}

/**
 * The Hub's routes, links and event streams below a path of a program's server.
 *
 * @internal
 */
export const mountedHub = ({ path }: HubMount) =>
  Layer.unwrap(
    Effect.map(HubConfig, (config) =>
      mountedLayer({
        path,
        routes: hubApiRoutes.pipe(Layer.provide(publicUrlLayer(config))),
        ...answeringOf(config)
      })
    )
  )

const answeringOf = (config: HubConfig) => ({
  api: HubApi,
  policy: policyOf(config),
  connections: Effect.provideServiceEffect(connectionsOf(config), PublicUrl, publicUrlOf(config))
})

const addresses = Effect.gen(function* () {
  const { port, url } = yield* ServiceAddress
  return { port, url, publicUrl: yield* PublicUrl }
})

const publicUrlOf = ({ publicUrl }: HubConfig) =>
  Effect.map(ServiceAddress, ({ path, url }) => (publicUrl ?? url) + path)

const publicUrlLayer = (config: HubConfig) => Layer.effect(PublicUrl, publicUrlOf(config))

/** The Hub answers to its public name and to the names of this machine. */
const policyOf = Effect.fnUntraced(function* ({ publicUrl }: HubConfig) {
  const { port } = yield* ServiceAddress
  const local = loopbackHosts(port).map((host) => `http://${host}`)
  return hubRequestPolicy(namesOfOrigins(publicUrl === undefined ? local : [publicUrl, ...local]))
})

const publicPaths = [...DOCUMENT_PATHS, ...DISCOVERY_PATHS]

/** Paths that the Hub serves, for metrics, spans and the log. */
const paths = [
  ...endpointPaths(HubApi),
  "/",
  "/device",
  `${LINK_PAGE}/:code`,
  LINK_PATH,
  HUB_STREAM_PATH,
  AGENT_HOST_PATH,
  ...publicPaths
]

const connectionsOf = Effect.fnUntraced(function* ({ requestsPerSecond }: HubConfig) {
  const callers = yield* Callers
  const clock = yield* Clock.Clock
  const guard = yield* RequestGuard
  const cookies = cookieScopeOf(yield* PublicUrl)
  const logRefusal = yield* refusalLog(paths)
  const rate = new RequestRateLimit(requestsPerSecond, () => clock.currentTimeMillisUnsafe())
  const handlers: ConnectionHandlers = {
    paths,
    onArrival: ({ headers }) => {
      if (headers.cookie !== undefined) headers.cookie = cookies.received(headers.cookie)
    },
    refusalOf: (request, isUpgrade) => {
      const refusal: HttpRefusal | undefined = rate.take(callers.keyOf(request))
        ? guard.refusalOfMessage(request, isUpgrade)
        : { code: "rate_limited" }
      if (refusal !== undefined) logRefusal(request, errorTable[refusal.code].status)
      return refusal
    },
    onRouted: (request, response) =>
      void response.once("finish", () => logRefusal(request, response.statusCode)),
    refusalOfDefect: storeRefusal,
    ...(yield* upgradeHandlers(logRefusal))
  }
  return handlers
})

const publicFiles = Layer.unwrap(
  Effect.map(HubConfig, ({ securityContact }) =>
    discoveryFiles({
      title: "Corral Hub",
      summary: "A Hub of Corral: users, projects, devices and the runs of coding agents that they share.",
      securityContact
    })
  )
)

/**
 * All HTTP routes of the Hub, with their guard and their authentication.
 */
const hubApiRoutes = HttpApiBuilder.layer(HubApi).pipe(
  Layer.provide([
    publicEndpoints,
    signInEndpoints,
    authEndpoints,
    apiKeyEndpoints,
    sessionEndpoints,
    conversationEndpoints,
    uploadEndpoints,
    searchEndpoints,
    usageEndpoints,
    projectEndpoints,
    deviceRegistrationEndpoints,
    deviceEndpoints,
    presetEndpoints,
    fileEndpoints,
    taskEndpoints,
    taskGroupEndpoints,
    runEndpoints,
    approvalEndpoints,
    inputEndpoints,
    changesEndpoints,
    changeFeedEndpoints,
    integrationEndpoints,
    chatBindingEndpoints,
    preferenceEndpoints,
    auditEndpoints
  ]),
  Layer.provide([SchemaErrors.layer, requestIds, authentication, gatewayAuthentication]),
  Layer.merge([devicePage, linkPage, consolePages, serviceDocuments("hub", import.meta.url), publicFiles]),
  Layer.provide([compressedJson, hubDeadlines, guardedRoutes]),
  Layer.provide(HttpServer.layerServices)
)

/** Upgrades of the Hub: the links of Edges, the event streams of clients, and editors. */
const upgradeHandlers = Effect.fnUntraced(function* (logRefusal: LogRefusal) {
  const agentHost = yield* HubAgentHost
  const links = yield* LinkServer
  const publicUrl = yield* PublicUrl
  const sockets = yield* EventSockets
  const streams = yield* StreamAuthority
  const run = yield* FiberSet.makeRuntime()

  const acceptLink: UpgradeHandler = (request, socket, head, id) =>
    // Only browsers send an Origin, and a browser is not an Edge.
    request.headers.origin === undefined
      ? links.accept(request, socket, head, publicUrl)
      : refuseUpgrade(socket, { code: "permission_denied", message: "Browsers can't open a link." }, id)

  /** Accepts an upgrade that is admitted by its target and its credential. */
  const acceptAdmitted =
    <A>(
      admit: (
        target: string,
        credential: Credential,
        requestId: RequestId
      ) => Effect.Effect<A, HttpRefusal | SqlError.SqlError>,
      accept: (upgrade: Upgrade, admitted: A) => void
    ): UpgradeHandler =>
    (request, stream, head, id) =>
      void run(
        admit(request.url ?? "", credentialOf(request.headers), id).pipe(
          Effect.match({
            onFailure: (error) => {
              const refusal: HttpRefusal = "code" in error ? error : { code: "overloaded" }
              logRefusal(request, errorTable[refusal.code].status)
              refuseUpgrade(stream, refusal, id)
            },
            onSuccess: (admitted) => accept({ request, stream, head }, admitted)
          }),
          Effect.catchCause((cause) =>
            Effect.andThen(
              Effect.logError("failed to upgrade a connection", cause),
              Effect.sync(() => refuseUpgrade(stream, { code: "internal" }, id))
            )
          )
        )
      )

  const acceptors: Readonly<Record<string, UpgradeHandler>> = {
    [LINK_PATH]: acceptLink,
    [AGENT_HOST_PATH]: acceptAdmitted(agentHost.admit, agentHost.accept)
  }
  const acceptStream = acceptAdmitted(streams.admit, sockets.accept)

  const onUpgrade: UpgradeHandler = (...upgrade) =>
    (acceptors[pathOfTarget(upgrade[0].url ?? "")] ?? acceptStream)(...upgrade)

  const closeUpgraded = Effect.all([links.closeAll, sockets.closeAll, agentHost.closeAll], {
    concurrency: "unbounded",
    discard: true
  })
  return { onUpgrade, closeUpgraded }
})
