/** The followed end of the thread, for its rows. */
import { createContext, useContext } from "react"
import { EndFollower } from "./EndFollower.ts"

interface FollowState {
  readonly end: EndFollower
  readonly isFollowing: boolean
}

export const FollowContext = createContext<FollowState>({ end: new EndFollower(), isFollowing: false })

export const useFollowState = (): FollowState => useContext(FollowContext)
