import { Page } from "../ui/Page.tsx"

export const ProjectPage = ({
  projectId
}: {
  readonly projectId: string
  readonly tab: string | undefined
}) => <Page title="ProjectPage">{projectId}</Page>
