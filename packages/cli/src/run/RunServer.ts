/**
 * Where a command finds runs: the Edge of this machine, or a Hub that one is signed in to. Commands know neither; they ask a place.
 *
 * `--hub` and `--project` name the Hub, `--url` an Edge. Where nothing is named it is the Edge that runs here, and where none runs, the Hub.
 */
import type { Approval, DecideApproval } from "@corral/domain/approval/Approval"
import type { Artifact } from "@corral/domain/run/Artifact"
import type { Diff } from "@corral/domain/edge-api/Diff"
import type { HubApproval, HubRun, HubRunStatus } from "@corral/domain/hub-api/HubRun"
import type { ApprovalId, ArtifactId, RunId } from "@corral/domain/identity/Ids"
import type { CreateRun, Run } from "@corral/domain/run/Run"
import { Effect, Option, type Stream } from "effect"
import { CommandFailed, refused } from "../CommandFailed.ts"
import { edgePlace } from "./EdgeRunServer.ts"
import type { StreamEndpoint } from "./EventTail.ts"
import type { PlaceChoice } from "../Flags.ts"
import { hubPlace } from "./HubRunServer.ts"
import { readSignIn } from "../hub/SignInFile.ts"

/** What a run is started with. `target` and `queue` mean something at a Hub alone. */
export interface StartRun extends Pick<
  CreateRun,
  "agentId" | "workspace" | "mode" | "input" | "model" | "timeoutMs"
> {
  /** A device's id or name. */
  readonly target?: string
  /** Wait for a target that is offline. */
  readonly queue: boolean
}

export type Decided = Omit<DecideApproval, "runId" | "approvalId">

export interface RunFilter {
  readonly state?: HubRunStatus
  readonly limit: number
}

type Asked<A> = Effect.Effect<A, CommandFailed>

export interface Place {
  /** The flags that name it, each after a space, for commands that are suggested; empty where it was found without any. */
  readonly named: string
  /** Asked before every connection: a service that was started anew may have another address. */
  readonly stream: Asked<StreamEndpoint>
  readonly start: (run: StartRun) => Asked<RunId>
  readonly run: (id: RunId) => Asked<Run | HubRun>
  /** The newest first. */
  readonly runs: (filter: RunFilter) => Asked<{
    readonly items: ReadonlyArray<Run | HubRun>
    readonly nextCursor: string | null
  }>
  readonly cancel: (id: RunId) => Asked<Run | HubRun>
  readonly decide: (id: ApprovalId, decided: Decided) => Asked<Approval | HubApproval>
  /** The whole of it, all pages. */
  readonly diff: (id: RunId) => Asked<Omit<Diff, "nextCursor" | "requestId">>
  readonly artifacts: (id: RunId) => Asked<ReadonlyArray<Artifact>>
  readonly content: (run: RunId, id: ArtifactId) => Asked<Stream.Stream<Uint8Array, CommandFailed>>
}

/** What is not there is told by its id, and where to look. A Hub refuses to show it as it refuses what others may see. */
export const orNone =
  (none: string, codes: ReadonlyArray<string> = ["not_found"]) =>
  <A>(call: Asked<A>): Asked<A> =>
    Effect.mapError(call, (failure) =>
      codes.includes(failure.code ?? "") ? new CommandFailed({ ...failure, message: none }) : failure
    )

/** `named` is how the place was named, so that what is suggested goes there too. */
export const noRun = (id: RunId, named = "", codes?: ReadonlyArray<string>) =>
  orNone(`There is no run ${id} that you may see: \`corral runs${named}\` lists those that there are.`, codes)

const namingWhatIsNot = (place: Place): Place => {
  const { named } = place
  const unseen = (id: RunId) => noRun(id, named, ["not_found", "permission_denied"])
  return {
    ...place,
    run: (id) => unseen(id)(place.run(id)),
    cancel: (id) => noRun(id, named)(place.cancel(id)),
    diff: (id) => unseen(id)(place.diff(id)),
    artifacts: (id) => unseen(id)(place.artifacts(id)),
    content: (run, id) =>
      orNone(
        `There is no artifact ${id} of ${run}: \`corral artifacts list ${run}${named}\` lists those that there are.`
      )(place.content(run, id)),
    decide: (id, decided) =>
      orNone(`There is no approval ${id} that you may see: the run that asks shows its id.`)(
        place.decide(id, decided)
      )
  }
}

/** The place that the flags name. */
export const placeOf = (choice: PlaceChoice) => Effect.map(find(choice), namingWhatIsNot)

const find = Effect.fn("Place.find")(function* (choice: PlaceChoice) {
  const { hub, project, url } = choice
  if (Option.isSome(hub) || Option.isSome(project)) {
    if (Option.isSome(url))
      return yield* refused("--url names an Edge, --hub and --project a Hub: choose one.")
    return yield* hubPlace(choice)
  }
  return yield* edgePlace(choice).pipe(
    Effect.catchIf(
      ({ unreachable }) => unreachable === true && Option.isNone(url),
      (notRunning) =>
        Effect.flatMap(readSignIn, (kept) =>
          kept === undefined ? Effect.fail(notRunning) : hubPlace(choice)
        )
    )
  )
})
