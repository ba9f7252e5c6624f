import { Page } from "../ui/Page.tsx"

export const DevicesPage = () => <Page title="DevicesPage">{null}</Page>
