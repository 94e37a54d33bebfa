// Bolt for JavaScript in CommonJS: a shortcut, a form, the home and direct messages.
const { App } = require("@slack/bolt");

const app = new App({ token: process.env.SLACK_BOT_TOKEN, appToken: process.env.SLACK_APP_TOKEN, socketMode: true });
const ratings = [];

const plain = (text) => ({ type: "plain_text", text });

async function publish(client, user) {
  const average = ratings.reduce((sum, each) => sum + each, 0) / (ratings.length || 1);
  const text = ratings.length ? `${average.toFixed(1)} stars of ${ratings.length}` : "No stars yet";
  await client.views.publish({ user_id: user, view: { type: "home", blocks: [{ type: "section", text: plain(text) }] } });
}

app.shortcut("rate", async ({ ack, body, client }) => {
  await ack();
  const options = [1, 2, 3, 4, 5].map((stars) => ({ text: plain("★".repeat(stars)), value: String(stars) }));
  await client.views.open({
    trigger_id: body.trigger_id,
    view: {
      type: "modal",
      callback_id: "rating",
      title: plain("Rate us"),
      submit: plain("Send"),
      blocks: [{ type: "input", block_id: "stars", label: plain("How many?"), element: { type: "radio_buttons", action_id: "stars", options } }],
    },
  });
});

app.view("rating", async ({ ack, view, body, client }) => {
  await ack();
  ratings.push(Number(view.state.values.stars.stars.selected_option.value));
  await publish(client, body.user.id);
});

app.event("app_home_opened", async ({ event, client }) => {
  if (event.tab === "home") await publish(client, event.user);
});

app.message(/how many/i, async ({ say }) => {
  await say(`${ratings.length} so far`);
});

(async () => {
  await app.start();
})();
