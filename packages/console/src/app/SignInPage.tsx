/** Where a person begins who is not signed in. */
import { addressOf } from "../api/Hub.ts"
import { hubRoutes } from "../api/routes.ts"
import { useMessages } from "../text/Language.tsx"
import { Mark } from "../ui/Mark.tsx"
import { appMessages } from "./messages.ts"

const loginAddress = (): string => {
  const { hash, pathname, search } = globalThis.location
  return addressOf(hubRoutes.signIn.login[1], { query: { returnTo: pathname + search + hash } })
}

export const SignInPage = () => {
  const messages = useMessages(appMessages)
  return (
    <main className="gate">
      <Mark />
      <h1>Corral</h1>
      <p>{messages.tagline}</p>
      <a className="button primary" href={loginAddress()}>
        {messages.signIn}
      </a>
      <p className="quiet">{messages.signInHint}</p>
    </main>
  )
}
