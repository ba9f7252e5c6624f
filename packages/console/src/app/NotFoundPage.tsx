/** An address of the console that is none. */
import { Link } from "@tanstack/react-router"
import { useWords } from "../text/Language.tsx"
import { Page } from "../ui/Page.tsx"
import { appWords } from "./messages.ts"

export const NotFoundPage = () => {
  const words = useWords(appWords)
  return (
    <Page title={words.notFound}>
      <p>{words.notFoundHint}</p>
      <Link to="/" className="button">
        {words.toHome}
      </Link>
    </Page>
  )
}
