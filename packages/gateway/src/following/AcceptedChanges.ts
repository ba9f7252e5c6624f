/**
 * Acceptance of a run's changes from its card: which changes are of low risk, and what the card shows once they are accepted.
 *
 * Guarantees: what is accepted is the version whose counts the card showed. Other changes are refused by the Edge.
 * Does not: show paths or lines, or decide who may accept. The Hub does.
 */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import type { ChangeSet } from "@corral/domain/edge-api/ChangeSet"
import type { RunId } from "@corral/domain/identity/Ids"
import { Effect, Schema } from "effect"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"
import { ButtonActions, type ButtonMeaning, subjectOf } from "../button/ButtonActions.ts"
import { Hub, type HubRefused } from "../hub/Hub.ts"
import { type LocalizedText, Platforms } from "../platform/ChatPlatform.ts"
import { FollowId, Follows } from "./Follows.ts"
import { runCard } from "./RunCard.ts"
import type { TaskProgress } from "./TaskProgress.ts"

/** Largest change that can be accepted without a look at it. */
const MAX_FILES = 20
const MAX_LINES = 400

type CountedSet = Pick<
  ChangeSet,
  | "additions"
  | "apart"
  | "conflicts"
  | "deletions"
  | "direct"
  | "fileCount"
  | "groupId"
  | "incomplete"
  | "live"
  | "state"
>

/**
 * Whether changes are of low risk by their counts: few files and lines, none that needs its own decision, no conflict, and all of them known. Results of several
 * agents are compared first.
 */
export const isLowRisk = (set: CountedSet): boolean =>
  set.state === "open" &&
  !set.live &&
  !set.direct &&
  set.groupId === undefined &&
  set.apart === 0 &&
  set.conflicts === 0 &&
  (set.incomplete ?? []).length === 0 &&
  set.fileCount <= MAX_FILES &&
  set.additions + set.deletions <= MAX_LINES

/** Changes of the run that can be accepted in the chat. `undefined` if they need a look, or the device can't be asked. */
export const readAcceptable = Effect.fn("AcceptedChanges.read")(
  function* (account: ChatAccount, runId: RunId) {
    const hub = yield* Hub
    const { set } = yield* hub.as(account, ({ changeSets }) =>
      changeSets.get({ params: { id: runId }, query: { limit: 1 } })
    )
    const { additions, deletions, fileCount: files, version } = set
    return isLowRisk(set) ? { version, files, additions, deletions } : undefined
  },
  Effect.catchTag("HubRefused", () => Effect.undefined)
)

type AcceptMeaning = Extract<ButtonMeaning, { readonly _tag: "Accept" }>

const isFollowId = Schema.is(FollowId)

/** Draws the card of a run whose following has ended with another progress. */
const redraw = Effect.fnUntraced(function* (
  { follow: id, runId }: AcceptMeaning,
  change: (progress: TaskProgress) => TaskProgress
) {
  const follows = yield* Follows
  const follow = isFollowId(id) ? yield* follows.get(id) : undefined
  if (follow === undefined) return
  const progress = change(follow.progress)
  yield* follows.advance(follow.id, { ...follow, progress })
  const { account, chatId, language, messageId, place } = follow
  if (messageId === undefined) return
  const url = (yield* Hub).page(`/runs/${runId}`)
  const platform = (yield* Platforms).of(account.platform)
  // The acceptance holds regardless of its card.
  yield* Effect.catchTag(
    platform.update({ chatId, messageId }, runCard({ language, place, progress, url })),
    ["NotSent", "PlatformUnavailable"],
    () => Effect.void
  )
})

/** Why nothing was accepted. */
const refusal = (refused: HubRefused): LocalizedText =>
  refused.code === "changes_outdated" || refused.code === "merge_conflict" || refused.code === "run_active"
    ? phrases.changesNeedLook
    : phrases.refusalText(refused)

/** Accepts the changes. Undefined on success, which the card shows; otherwise what to tell the user. */
export const acceptFromCard = Effect.fn("AcceptedChanges.accept")(function* (
  { account, key }: Responder,
  meaning: AcceptMeaning
) {
  const { runId, version } = meaning
  const hub = yield* Hub
  const outcome = yield* hub
    .as(account, ({ changeSets }) =>
      changeSets.accept({
        params: { id: runId },
        headers: { "idempotency-key": key },
        payload: { parts: { all: true, version } }
      })
    )
    .pipe(
      Effect.map((decided) => ({ decided })),
      Effect.catchTag("HubRefused", (refused) => Effect.succeed({ refused }))
    )
  if ("refused" in outcome) return refusal(outcome.refused)
  const { decision, set } = outcome.decided
  yield* (yield* ButtonActions).expire(subjectOf(meaning))
  yield* redraw(meaning, (progress) => ({
    ...progress,
    undecided: set.fileCount === 0 ? undefined : set.fileCount,
    acceptable: undefined,
    accepted: decision.fileCount
  }))
  return undefined
})
