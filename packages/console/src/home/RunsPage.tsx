import { Page } from "../ui/Page.tsx"

export const RunsPage = ({ filter }: { readonly filter: object }) => (
  <Page title="RunsPage">{JSON.stringify(filter)}</Page>
)
