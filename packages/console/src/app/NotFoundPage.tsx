/** An address of the console that is none. */
import { Link } from "@tanstack/react-router"
import { useMessages } from "../text/Language.tsx"
import { PageFrame } from "../ui/Page.tsx"
import { appMessages } from "./messages.ts"

export const NotFoundPage = () => {
  const messages = useMessages(appMessages)
  return (
    <PageFrame title={messages.notFound}>
      <p>{messages.notFoundHint}</p>
      <Link to="/" className="button">
        {messages.toHome}
      </Link>
    </PageFrame>
  )
}
