/** Names of users at a Hub. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { Effect } from "effect"
import { readAllPages } from "../AllPages.ts"
import type { CommandFailed } from "../CommandFailed.ts"
import type { HubApiClient } from "./HubClient.ts"
import type { StoredSignIn } from "./SignInFile.ts"

/** Names of the project's members, by their ids. */
export const memberNames = (
  calls: HubApiClient,
  id: ProjectId
): Effect.Effect<ReadonlyMap<string, string>, CommandFailed> =>
  Effect.map(
    readAllPages((query) => calls.projects.members({ params: { id }, query })),
    ({ items }) => new Map(items.map(({ name, userId }) => [userId, name]))
  )

/** What to call a user: "you" for the signed-in user, and the id of a user without a name. */
export const userNaming =
  ({ userId }: Pick<StoredSignIn, "userId">, names: ReadonlyMap<string, string>) =>
  (user: string): string =>
    user === userId ? "you" : (names.get(user) ?? user)
