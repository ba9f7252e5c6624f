import { Page } from "../ui/Page.tsx"

export const AuditPage = ({ filter }: { readonly filter: object }) => (
  <Page title="AuditPage">{JSON.stringify(filter)}</Page>
)
