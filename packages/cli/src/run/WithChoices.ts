/** Start of a run that names an unknown agent or workspace: the failure lists those that there are, at an Edge and at a Hub. */
import { Effect } from "effect"
import { CommandFailed } from "../CommandFailed.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import type { RunChoices, RunServer, ServerCall } from "./RunServer.ts"

const lists: ReadonlyMap<string | undefined, readonly [label: string, of: keyof RunChoices]> = new Map([
  ["invalid_agent_id", ["Available agents", "agents"]],
  ["workspace_outside_allowlist", ["Available workspaces", "workspaces"]]
])

/** Adds the list to a failure. Nothing is added where the list can't be read. */
export const withChoices =
  ({ choices }: Pick<RunServer, "choices">) =>
  <A>(start: ServerCall<A>): ServerCall<A> =>
    Effect.catch(start, (refusal) => {
      const [label, of] = lists.get(refusal.code) ?? []
      if (label === undefined || of === undefined) return Effect.fail(refusal)
      return Effect.flatMap(
        Effect.orElseSucceed(choices, () => undefined),
        (all) => {
          if (all === undefined) return Effect.fail(refusal)
          const names = all[of].map(escapeLine).join(", ") || "none"
          return Effect.fail(
            new CommandFailed({ ...refusal, message: `${refusal.message} ${label}: ${names}.` })
          )
        }
      )
    })
