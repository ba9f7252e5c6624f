import { Page } from "../ui/Page.tsx"

export const StartPage = ({ asked }: { readonly asked: object }) => (
  <Page title="StartPage">{JSON.stringify(asked)}</Page>
)
