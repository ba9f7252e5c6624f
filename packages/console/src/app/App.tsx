/** The whole console. */
export const App = () => <main>Corral</main>
