import { Page } from "../ui/Page.tsx"

export const SessionPage = ({ sessionId }: { readonly sessionId: string }) => (
  <Page title="SessionPage">{sessionId}</Page>
)
