/**
 * The Agent Host Protocol at the Edge: `/ahp` for all workspaces, `/ahp/{workspace}` for one.
 *
 * Does not: check the token, which the request policy does before the upgrade.
 */
import { type AgentHost, makeAgentHost } from "@corral/agent-host/host/AgentHost"
import type { HostBackend } from "@corral/agent-host/host/HostBackend"
import type { HttpRefusal } from "@corral/service/http/Refusal"
import { pathOfTarget } from "@corral/service/http/RequestGuard"
import { Context, Effect, Layer } from "effect"
import { Workspaces } from "../workspace/Workspaces.ts"
import { agentHostBackends } from "./AgentHostBackend.ts"
import { AGENT_HOST_PATH } from "./EdgeRequestPolicy.ts"

export class EdgeAgentHost extends Context.Service<
  EdgeAgentHost,
  AgentHost & {
    /** Finds what the target names. Fails for a workspace that is not linked. */
    readonly admit: (target: string) => Effect.Effect<HostBackend, HttpRefusal>
  }
>()("corral/edge/AgentHost") {
  static readonly layer = Layer.effect(
    EdgeAgentHost,
    Effect.gen(function* () {
      const workspaces = yield* Workspaces
      const backendOf = yield* agentHostBackends
      const host = yield* makeAgentHost()
      return EdgeAgentHost.of({
        ...host,
        admit: Effect.fn("AgentHost.admit")(function* (
          target: string
        ): Effect.fn.Return<HostBackend, HttpRefusal> {
          const name = pathOfTarget(target).slice(AGENT_HOST_PATH.length).replace(/^\//, "")
          if (name === "") return backendOf(undefined)
          const found = (yield* workspaces.list).find(({ id }) => encodeURIComponent(id) === name)
          return found === undefined
            ? yield* Effect.fail<HttpRefusal>({ code: "not_found" })
            : backendOf(found.id)
        })
      })
    })
  )
}
