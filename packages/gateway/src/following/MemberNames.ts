/** Names of users on cards, if the account of the follow may see them. */
import { Effect } from "effect"
import { Hub } from "../hub/Hub.ts"
import { UserNames } from "../store/UserNames.ts"
import type { Follow } from "./FollowRow.ts"

/** The name of a member of the run's project. */
const memberName = Effect.fn("MemberNames.memberName")(function* (
  { account, runId }: Follow,
  userId: string
) {
  if (runId === undefined) return undefined
  const hub = yield* Hub
  const members = yield* hub.as(account, ({ projects, runs }) =>
    Effect.flatMap(runs.get({ params: { id: runId } }), ({ projectId }) =>
      projects.members({ params: { id: projectId }, query: { limit: 200 } })
    )
  )
  return members.items.find((member) => member.userId === userId)?.name
})

/** A user's name; `undefined` if it is not known. */
export const nameOfUser = Effect.fn("MemberNames.nameOfUser")(function* (
  follow: Follow,
  userId: string | undefined
) {
  const name = yield* (yield* UserNames).nameOf(userId)
  if (name !== undefined || userId?.startsWith("usr_") !== true) return name
  return yield* Effect.orElseSucceed(memberName(follow, userId), () => undefined)
})
