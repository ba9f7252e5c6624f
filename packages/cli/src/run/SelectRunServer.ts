/**
 * Choice of the run server that the flags name.
 *
 * `--hub` and `--project` select the Hub, `--url` an Edge. Without these flags it is the Edge of this machine or, if none is running, the
 * Hub that the user is signed in to.
 */
import type { InputRequestId, RunId } from "@corral/domain/identity/Ids"
import { Effect, Option } from "effect"
import { CommandFailed, refused } from "../CommandFailed.ts"
import type { RunServerChoice } from "../Flags.ts"
import { readSignIn } from "../hub/SignInFile.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import { edgeRunServer } from "./EdgeRunServer.ts"
import { hubRunServer } from "./HubRunServer.ts"
import type { RunServer, ServerCall } from "./RunServer.ts"
import { unknownChangesLine } from "./UnknownChangesLine.ts"

/** Replaces the message of a "not found" failure. A Hub answers `permission_denied` for missing and for forbidden resources. */
export const explainMissing =
  (message: string, codes: ReadonlyArray<string> = ["not_found"]) =>
  <A>(call: ServerCall<A>): ServerCall<A> =>
    Effect.mapError(call, (failure) =>
      codes.includes(failure.code ?? "") ? new CommandFailed({ ...failure, message }) : failure
    )

/** `flags` select the server, so that the suggested command uses the same one. */
export const explainMissingRun = (id: RunId, flags = "", codes?: ReadonlyArray<string>) =>
  explainMissing(
    `Run ${id} was not found, or you don't have access to it. \`corral runs${flags}\` lists the available runs.`,
    codes
  )

/** Says why the changes are unknown. */
const explainUnknownChanges = <A>(call: ServerCall<A>): ServerCall<A> =>
  Effect.mapError(call, (failure) => {
    const { detail, reason } = failure.details ?? {}
    if (failure.code !== "changes_unknown" || typeof reason !== "string") return failure
    const unknown = typeof detail === "string" ? { reason, detail } : { reason }
    return new CommandFailed({ ...failure, message: unknownChangesLine(unknown) })
  })

/** Says how a question ended, and who answered. */
const explainResolved = <A>(call: ServerCall<A>): ServerCall<A> =>
  Effect.mapError(call, (failure) => {
    const { answeredBy, state } = failure.details ?? {}
    if (failure.code !== "input_already_resolved" || typeof state !== "string") return failure
    const by = typeof answeredBy === "string" ? ` by ${escapeLine(answeredBy)}` : ""
    const message = `This question is no longer open: ${escapeLine(state.replaceAll("_", " "))}${by}.`
    return new CommandFailed({ ...failure, message })
  })

/** The server, with failures that say where to find what is missing. */
export const explainMissingIn = (server: RunServer): RunServer => {
  const { named } = server
  const missingOrForbidden = (id: RunId) => explainMissingRun(id, named, ["not_found", "permission_denied"])
  const missingQuestion = (id: InputRequestId) =>
    explainMissing(
      `Question ${id} was not found, or you don't have access to it. \`corral questions${named}\` lists what is open.`
    )
  return {
    ...server,
    run: (id) => missingOrForbidden(id)(server.run(id)),
    cancel: (id) => explainMissingRun(id, named)(server.cancel(id)),
    finish: (id) => missingOrForbidden(id)(server.finish(id)),
    input: (id) => missingQuestion(id)(server.input(id)),
    answer: (id, answer) => missingQuestion(id)(explainResolved(server.answer(id, answer))),
    diff: (id) => explainUnknownChanges(missingOrForbidden(id)(server.diff(id))),
    artifacts: (id) => missingOrForbidden(id)(server.artifacts(id)),
    content: (run, id) =>
      explainMissing(
        `Run ${run} has no artifact ${id}. \`corral artifacts list ${run}${named}\` lists its artifacts.`
      )(server.content(run, id)),
    decide: (id, decision) =>
      explainMissing(
        `Approval ${id} was not found, or you don't have access to it. \`corral attach\` on its run shows the id.`
      )(server.decide(id, decision))
  }
}

const findServer = Effect.fn("SelectRunServer.find")(function* (choice: RunServerChoice) {
  const { hub, project, url } = choice
  if (Option.isSome(hub) || Option.isSome(project)) {
    if (Option.isSome(url))
      return yield* refused("--url selects an Edge, --hub and --project select a Hub. Use one or the other.")
    return yield* hubRunServer(choice)
  }
  return yield* edgeRunServer(choice).pipe(
    Effect.catchIf(
      ({ unreachable }) => unreachable === true && Option.isNone(url),
      (notRunning) =>
        Effect.flatMap(readSignIn, (signIn) =>
          signIn === undefined ? Effect.fail(notRunning) : hubRunServer(choice)
        )
    )
  )
})

export const selectRunServer = (choice: RunServerChoice) => Effect.map(findServer(choice), explainMissingIn)
