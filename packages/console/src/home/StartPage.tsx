/** `/start`: the home page's composer with the choices of the URL. With a session, its thread, where the next message is written. */
import type { SessionId } from "@corral/domain/identity/Ids"
import { Navigate } from "@tanstack/react-router"
import type { StartWish } from "../start/Offer.ts"
import { HomePage } from "./HomePage.tsx"

/** Initial choice from the URL. */
export interface StartSearch extends StartWish {
  readonly sessionId?: string
}

export const StartPage = ({ search: { sessionId, ...wish } }: { readonly search: StartSearch }) =>
  sessionId === undefined ? (
    <HomePage search={wish} isStart />
  ) : (
    // Text from the URL is user input: the Hub validates it.
    <Navigate to="/sessions/$sessionId" params={{ sessionId: sessionId as SessionId }} replace />
  )
