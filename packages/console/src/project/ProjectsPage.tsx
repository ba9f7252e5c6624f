import { Page } from "../ui/Page.tsx"

export const ProjectsPage = () => <Page title="ProjectsPage">{null}</Page>
