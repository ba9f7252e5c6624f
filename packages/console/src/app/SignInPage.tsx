/** Sign-in page. Returns to the current URL after the sign-in. */
import { pathOf } from "@corral/client/http/Endpoints"
import { hubPaths } from "@corral/client/hubPaths"
import { useMessages } from "../text/Language.tsx"
import { Mark } from "../ui/Mark.tsx"
import { appMessages } from "./messages.ts"

const loginAddress = (): string => {
  const { hash, pathname, search } = globalThis.location
  return pathOf(hubPaths.signIn.login[1], { query: { returnTo: pathname + search + hash } })
}

export const SignInPage = () => {
  const messages = useMessages(appMessages)
  return (
    <main className="gate">
      <div className="gate-card">
        <Mark />
        <h1>Corral</h1>
        <p>{messages.tagline}</p>
        <a className="button primary" href={loginAddress()}>
          {messages.signIn}
        </a>
        <p className="quiet">{messages.signInHint}</p>
      </div>
    </main>
  )
}
