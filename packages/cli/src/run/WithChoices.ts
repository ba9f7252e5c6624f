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
export const withChoices = ({ choices }: Pick<RunServer, "choices">) => {
  const explained = Effect.fnUntraced(function* (refusal: CommandFailed) {
    const [label, of] = lists.get(refusal.code) ?? []
    const all = yield* Effect.orElseSucceed(choices, () => undefined)
    if (label === undefined || of === undefined || all === undefined) return refusal
    const names = all[of].map(escapeLine).join(", ") || "none"
    return new CommandFailed({ ...refusal, message: `${refusal.message} ${label}: ${names}.` })
  })
  return <A>(start: ServerCall<A>): ServerCall<A> =>
    start.pipe(
      Effect.catchIf(
        ({ code }) => lists.has(code),
        (refusal) => Effect.flatMap(explained(refusal), Effect.fail)
      )
    )
}
