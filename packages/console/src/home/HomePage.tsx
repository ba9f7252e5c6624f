/** What is going on. */
import { useWords } from "../text/Language.tsx"
import { appWords } from "../app/words.ts"
import { Page } from "../ui/Page.tsx"

export const HomePage = () => <Page title={useWords(appWords).home}>{null}</Page>
