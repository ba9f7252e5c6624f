/** The draft of the signed-in user in a session. */
import type { SessionId } from "@corral/domain/identity/Ids"
import { useCurrentUser } from "../api/CurrentUser.ts"
import { Draft } from "./Draft.ts"

export const useSessionDraft = (id: SessionId): Draft => Draft.of(`${useCurrentUser().user.id}.${id}`)
