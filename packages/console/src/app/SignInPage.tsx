/** Where a person begins who is not signed in. */
import { addressOf } from "../api/Hub.ts"
import { routes } from "../api/routes.ts"
import { useWords } from "../text/Language.tsx"
import { Mark } from "../ui/Mark.tsx"
import { appWords } from "./messages.ts"

const loginAddress = (): string => {
  const { hash, pathname, search } = globalThis.location
  return addressOf(routes.signIn.login[1], { query: { returnTo: pathname + search + hash } })
}

export const SignInPage = () => {
  const words = useWords(appWords)
  return (
    <main className="gate">
      <Mark />
      <h1>Corral</h1>
      <p>{words.tagline}</p>
      <a className="button primary" href={loginAddress()}>
        {words.signIn}
      </a>
      <p className="quiet">{words.signInHint}</p>
    </main>
  )
}
