import { Page } from "../ui/Page.tsx"

export const AccountPage = () => <Page title="AccountPage">{null}</Page>
