/** Connections of a confined run that need a decision of its user, and lines about refused ones in its timeline. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { RunId } from "@corral/domain/identity/Ids"
import { draft } from "@corral/domain/run/RunEvent"
import { Effect } from "effect"
import type { HostAnswer } from "../network/HostDecisions.ts"
import { type NetworkTarget, showTarget } from "../network/NetworkTarget.ts"
import type { NetworkUser } from "../network/RunNetwork.ts"
import type { LiveRuns } from "./LiveRuns.ts"

/** The request as the user sees it. Its address is what a grant names: a host, with its port unless it is that of HTTP or HTTPS. */
export const connectionRequest = (target: NetworkTarget): ApprovalRequest => ({
  action: "network",
  risk: "medium",
  title: `Connect to ${showTarget(target)}`,
  url: new URL(`${target.port === 80 ? "http" : "https"}://${showTarget(target)}/`).href,
  reason:
    "A program of this run wants to connect. The decision is for this host and port, until the run ends.",
  editable: false,
  scopes: ["once", "run", "session", "always"]
})

/** The user of a live run. */
export const networkUser = ({ actors }: Pick<LiveRuns, "actors">, id: RunId): NetworkUser => ({
  ask: (target) =>
    Effect.suspend((): Effect.Effect<HostAnswer> => {
      const actor = actors.get(id)
      if (actor === undefined) return Effect.succeed("unavailable")
      return actor.requestConnection(showTarget(target), connectionRequest(target)).pipe(
        Effect.map((answer) =>
          answer === undefined ? "unavailable" : answer.decision === "allow" ? "allowed" : "denied"
        ),
        Effect.catchTag("RunGone", () => Effect.succeed("unavailable" as const))
      )
    }),
  report: (messageId, text) =>
    actors
      .get(id)
      ?.announce(draft("run.message.completed", { messageId, role: "system", channel: "text", text }))
})
