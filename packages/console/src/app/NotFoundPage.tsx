/** Page for unknown URLs. */
import { Link } from "@tanstack/react-router"
import { useMessages } from "../text/Language.tsx"
import { PageFrame } from "../ui/PageFrame.tsx"
import { appMessages } from "./messages.ts"

export const NotFoundPage = () => {
  const messages = useMessages(appMessages)
  return (
    <PageFrame title={messages.notFound}>
      <p className="page-hint">{messages.notFoundHint}</p>
      <Link to="/" className="button primary">
        {messages.toHome}
      </Link>
    </PageFrame>
  )
}
