/** A Hub with an Edge and a Chromium for all tests of a `describe`, and the sign-in of the owner. Ends both after the last test. */
import { afterAll, beforeAll } from "@effect/vitest"
import { Joined, type JoinedOptions } from "@corral/testing/stack/Joined"
import { ConsoleBrowser } from "./ConsoleBrowser.ts"

export type WebSignIn = Awaited<ReturnType<Joined["hub"]["people"]["signIn"]>>

export interface JoinedConsole {
  readonly joined: Joined
  readonly browser: ConsoleBrowser
  readonly owner: WebSignIn
  /** Token of the owner's sign-in. */
  readonly token: string
}

/** `onOpen` receives them before the first test. */
export const withJoinedConsole = (onOpen: (opened: JoinedConsole) => void, options?: JoinedOptions): void => {
  const ending: Array<() => Promise<unknown>> = []
  beforeAll(async () => {
    const [joined, browser] = await Promise.all([
      Joined.open(options).then((opened) => {
        ending.push(() => opened.remove())
        return opened
      }),
      ConsoleBrowser.open().then((opened) => {
        ending.push(() => opened.close())
        return opened
      })
    ])
    const owner = await joined.hub.people.signIn("owner", "web")
    onOpen({ joined, browser, owner, token: owner.token })
  })
  afterAll(async () => {
    for (const end of ending.toReversed()) await end()
  })
}
